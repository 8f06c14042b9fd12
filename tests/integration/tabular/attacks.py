"""Statements that no caller may have run, over the table `t` whose words are secret.

Each has the code that it is refused with; a growth without one is small enough to be planned.
"""

from __future__ import annotations

SECRET = "topsecretvalue"
CSV = b"id,word,number\n" + b"".join(b"%d,topsecretvalue,%d.50\n" % (n, n) for n in range(2_000))

TABLE_FUNCTION = "sql_feature_table_function"
COMPLEX = "sql_too_complex"
CHANGE = "sql_feature_data_modifying_statement"

FILES = {
    "select * from read_csv('/etc/passwd')": TABLE_FUNCTION,
    "select * from read_text('/etc/passwd')": TABLE_FUNCTION,
    "select * from read_blob('/proc/self/environ')": TABLE_FUNCTION,
    "select * from read_parquet('/dev/fd/3')": TABLE_FUNCTION,
    "select * from read_json_auto('/etc/hostname')": TABLE_FUNCTION,
    "select * from sniff_csv('/etc/passwd')": TABLE_FUNCTION,
    "select * from glob('/**')": TABLE_FUNCTION,
    "select * from '/etc/passwd'": "sql_unknown_table",
    'select * from "/etc/passwd"': "sql_unknown_table",
    "select * from 'file:///etc/passwd'": "sql_unknown_table",
    "from '/proc/self/maps'": "sql_unknown_table",
    "copy t to '/tmp/stolen.csv'": "sql_statement_not_select",
    "copy (select * from t) to '/dev/stdout'": "sql_statement_not_select",
    "with x as (copy t to '/tmp/stolen.csv') select * from x": CHANGE,
    "export database '/tmp/stolen'": "sql_statement_not_select",
    "import database '/tmp/stolen'": "sql_statement_not_select",
    "attach '/tmp/stolen.db' as other": "sql_statement_not_select",
    "attach ':memory:' as other": "sql_statement_not_select",
    "select * from parquet_metadata('/dev/fd/3')": TABLE_FUNCTION,
    "select * from duckdb_temporary_files()": TABLE_FUNCTION,
}
NETWORK = {
    "select * from read_csv('http://127.0.0.1:1/x')": TABLE_FUNCTION,
    "select * from 'https://127.0.0.1:1/x.parquet'": "sql_unknown_table",
    "select * from read_parquet('s3://bucket/x')": TABLE_FUNCTION,
    "attach 'http://127.0.0.1:1/x.db' as x": "sql_statement_not_select",
    "attach 'host=127.0.0.1 dbname=x' as p (type postgres)": "sql_statement_not_select",
    "select http_get('http://127.0.0.1:1')": "sql_feature_function",
    "create secret s (type s3, key_id 'a', secret 'b')": "sql_statement_not_select",
}
EXTENSIONS = {
    "install httpfs": "sql_statement_not_select",
    "load httpfs": "sql_statement_not_select",
    "force install spatial from community": "sql_statement_not_select",
    "update extensions": "sql_statement_not_select",
    "load '/tmp/evil.duckdb_extension'": "sql_statement_not_select",
    "select * from duckdb_extensions()": TABLE_FUNCTION,
    "select * from st_read('/etc/passwd')": TABLE_FUNCTION,
}
SETTINGS = {
    "set enable_external_access = true": "sql_statement_not_select",
    "set lock_configuration = false": "sql_statement_not_select",
    "set global memory_limit = '64GB'": "sql_statement_not_select",
    "set temp_directory = '/tmp'": "sql_statement_not_select",
    "set threads = 64": "sql_statement_not_select",
    "set s3_region = 'x'": "sql_statement_not_select",
    "reset memory_limit": "sql_statement_not_select",
    "pragma enable_profiling": "sql_statement_not_select",
    "pragma memory_limit='64GB'": "sql_statement_not_select",
    "pragma database_list": "sql_statement_not_select",
    "set log_query_path = '/tmp/log'": "sql_statement_not_select",
    "select current_setting('temp_directory')": "sql_feature_function",
    "select current_setting('secret_directory')": "sql_feature_function",
    "select * from duckdb_settings()": TABLE_FUNCTION,
    "checkpoint": "sql_statement_not_select",
    "call enable_logging()": "sql_statement_not_select",
}
CATALOG = {
    "select * from duckdb_tables()": TABLE_FUNCTION,
    "select * from duckdb_columns()": TABLE_FUNCTION,
    "select * from information_schema.tables": "sql_feature_schema_qualified_name",
    "select * from pg_catalog.pg_class": "sql_feature_schema_qualified_name",
    "select * from sqlite_master": "sql_unknown_table",
    "select * from duckdb_secrets()": TABLE_FUNCTION,
    "select * from pragma_storage_info('t')": TABLE_FUNCTION,
    "select * from pragma_table_info('t')": TABLE_FUNCTION,
    "select current_database(), current_schema()": "sql_feature_function",
    "select current_user": "sql_unknown_column",
    "select version()": "sql_feature_function",
    "select current_query()": "sql_feature_function",
    "select pg_typeof(word) from t": "sql_feature_function",
    "select txid_current()": "sql_feature_function",
    "describe t": "sql_feature_show",
    "summarize t": "sql_feature_show",
    "show all tables": "sql_feature_show",
    "explain analyze select * from t": "sql_statement_not_select",
    "use memory": "sql_statement_not_select",
    "select * from pg_settings where exists (with pg_settings as (select 1 a) select a from "
    "pg_settings)": "sql_unknown_table",
    "with x as (select * from sqlite_master), sqlite_master as (select 1 a) select * from x": (
        "sql_unknown_table"
    ),
    "with pg_settings as (select * from pg_settings) select * from pg_settings": (
        "sql_unknown_table"
    ),
    "select current_timestamp from t where exists (select 1 as current_timestamp)": (
        "sql_unknown_column"
    ),
    "select max(id) as user from t having user = 'duckdb'": "sql_unknown_column",
}
VARIABLES_AND_MACROS = {
    "set variable x = (select max(word) from t)": "sql_statement_not_select",
    "select getvariable('x')": "sql_feature_function",
    "create macro m(a) as a": "sql_statement_not_select",
    "create temp table stolen as select * from t": "sql_statement_not_select",
    "create view v as select * from t": "sql_statement_not_select",
    "prepare p as select 1": "sql_statement_not_select",
    "execute p": "sql_statement_not_select",
    "select $1": "sql_feature_parameter",
    "select ? from t": "sql_feature_parameter",
    "select nextval('s')": "sql_feature_function",
    "select * from query('select 1')": TABLE_FUNCTION,
    "select * from query_table('t')": TABLE_FUNCTION,
    "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))": TABLE_FUNCTION,
    "select getenv('PATH')": "sql_feature_function",
    "select random()": "sql_feature_function",
    "select now()": "sql_feature_function",
    "select uuid()": "sql_feature_function",
    "select write_log('x')": "sql_feature_function",
    "drop table t": "sql_statement_not_select",
    "delete from t": "sql_statement_not_select",
    "with x as (delete from t returning *) select * from x": CHANGE,
    "with x as (insert into t select * from t returning *) select * from x": CHANGE,
    "select 1; drop table t": "sql_statement_not_select",
    "begin; select 1": "sql_statement_not_select",
}
LEAKS = {
    "select error(word) from t": "sql_feature_function",
    "select cast(word as integer) from t": "sql_failed",
    "select cast(word as date) from t": "sql_failed",
    "select cast(word || number as decimal(38,2)) from t": "sql_failed",
    "select strftime(date '2020-01-01', word) || cast(word as integer) from t": "sql_not_bindable",
    "select id from t where word = 1": "sql_failed",
    "select make_date(id, id, id) from t": "sql_failed",
    "select (select word from t)::integer": "sql_failed",
    "select regexp_extract(word, '(' || word) from t": "sql_failed",
    "select date_trunc(word, date '2020-01-01') from t": "sql_lineage_unresolved",
    "select date_part(word, date '2020-01-01') from t": "sql_failed",
    "select sum(id * 1000000000000000000 * 10000000000000000000) from t": "sql_failed",
    "select round(1, word) from t": "sql_not_bindable",
    "select string_agg(word, word) + 1 from t": "sql_not_bindable",
    "select topsecretvalue from t": "sql_unknown_column",
    "select t.topsecretvalue('x') from t": "sql_feature_function",
    "select word from topsecretvalue": "sql_unknown_table",
}
BOMBS = (
    "select count(*) from t a, t b, t c, t d where a.id + b.id < c.id * d.id",
    "select length(string_agg(a.word || b.word || a.number, ',')) from t a, t b",
    "select max(length(s)) from (select " + "replace(" * 12 + "word" + ", 'e', 'eeeeeeee')" * 12
    + " as s from t)",
    "with a as (select word || word as s from t)"
    + "".join(f", a{n} as (select s || s as s from a{n - 1 if n else ''})" for n in range(26))
    + " select max(length(s)) from a25",
    "select count(*) from (select a.id from t a, t b order by a.word || b.word, b.number || a.id)",
    "select sum(x) from (select sum(a.id) over (order by b.id rows 999 preceding) x from t a, t b)",
    "select count(distinct a.word || b.id || c.id) from t a, t b, t c",
    "select median(a.id * b.id * c.id) from t a, t b, t c",
)  # fmt: skip
GROWTHS = {
    (
        "select id+id as x0" + "".join(f", x{n}+x{n} as x{n + 1}" for n in range(60)) + " from t"
    ): COMPLEX,
    (
        "select id+id as a" + "".join(", a+a as a" for _ in range(60)) + " from t where a > 0"
    ): COMPLEX,
    ("select " + ",".join("*" * 2_000) + " from t"): COMPLEX,
    (
        "with x0 as (select * from t)"
        + "".join(f", x{n + 1} as (select * from x{n} l, x{n} r)" for n in range(100))
        + " select * from x100"
    ): "",
    ("select id from t where " + " or ".join(f"id = {n}" for n in range(900))): "sql_too_long",
    ("select " + "case when id = 1 then " * 90 + "1" + " end" * 90 + " from t"): COMPLEX,
    ("select " + "(select " * 70 + "1" + ")" * 70): COMPLEX,
    ("select " + "(" * 290 + "id" + ")" * 290 + " from t"): "",
    ("select " + "-" * 590 + "id from t"): "sql_syntax",
    ("select " + "not " * 900 + "true"): COMPLEX,
    (" union ".join(["select id from t"] * 400)): "sql_too_long",
    ("select id from t" + " join t using (id)" * 300): COMPLEX,
    ("select '" + "x" * 8_100 + "'"): "",
    ("select " + "1" * 8_000): "",
    ("select 1e" + "9" * 8_000): "",
    ("/*" * 2_000 + "select 1"): "sql_syntax",
}
