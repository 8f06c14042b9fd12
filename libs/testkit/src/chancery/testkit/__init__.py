"""What tests stand on: real servers, fakes that pass the ports' contracts, waiting, generators."""
