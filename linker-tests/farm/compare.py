"""compare.py SERIAL INDEX: compares the index of Spark with the rows of one run of fatbin, and answers the queries of the guide.

SERIAL is the output of `fatbin scan --ndjson --hash`, INDEX the directory that spark_index.py has written. Prints a JSON
document.
"""

import collections
import json
import os
import pathlib
import sys

import duckdb

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/index"
sys.path.insert(0, str(EXAMPLES))
# The directory of the examples is not one of the trial.
sys.dont_write_bytecode = True
import spark_index  # noqa: E402

serial = collections.Counter(row for line in open(sys.argv[1]) for row in spark_index.rows(line))
os.chdir(sys.argv[2])
database = duckdb.connect()
index = collections.Counter(database.execute("SELECT * FROM '*.parquet'").fetchall())
answers = []
for statement in database.extract_statements((EXAMPLES / "queries.sql").read_text()):
    result = database.execute(statement)
    if statement.type == duckdb.StatementType.SELECT:
        answers.append(result.fetchall())
images = database.execute("SELECT wheel, count(*) FROM images GROUP BY wheel").fetchall()
document = {
    "rows": index.total(),
    "lost": list((serial - index).elements()),
    "doubled": list((index - serial).elements()),
    "images": {os.path.basename(wheel): count for wheel, count in images},
    "answers": answers,
}
print(json.dumps(document))
