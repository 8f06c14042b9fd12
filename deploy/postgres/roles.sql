-- Run once by an empty PostgreSQL: the roles that the services log in as, with one password each
-- from the environment. The migrations make the rest.
\getenv password CHANCERY_ROLE_PASSWORD
CREATE ROLE chancery_gateway LOGIN PASSWORD :'password';
CREATE ROLE chancery_ingestion LOGIN PASSWORD :'password';
CREATE ROLE chancery_indexing LOGIN PASSWORD :'password';
CREATE ROLE chancery_retrieval LOGIN PASSWORD :'password';
CREATE ROLE chancery_execution LOGIN PASSWORD :'password';
CREATE ROLE chancery_release LOGIN PASSWORD :'password';
