"""The chassis of a service: settings, lifecycle, workers, responders, health and telemetry.

A whole service, with its database pool left out::

    class Settings(ServiceSettings):
        greeting: str = "hello"


    async def application(settings: Settings) -> None:
        service = Service("retrieval", settings)
        async with service.open() as opened:

            async def gather(event: Event, delivery: Delivery) -> None:
                await publish(opened.connection, subject, make_gathered(event))

            async def tell(request: Request[OfRun]) -> Document:
                return Document(...)

            service.worker(topology.consumer(RETRIEVAL_RUNS), gather, parking=parking, workers=8)
            service.responder(query_subject("retrieval", "run"), OfRun, tell)
            service.background("index", lambda: follow_index(opened.connection))
            service.ready_check("index", index_reason)
            await service.run()


    if __name__ == "__main__":
        sys.exit(start("retrieval", Settings, application))
"""
