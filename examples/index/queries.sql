-- Questions about the index of spark_index.py, for DuckDB: cd OUTPUT; duckdb < queries.sql

CREATE VIEW rows AS SELECT * FROM '*.parquet';
CREATE VIEW images AS SELECT * FROM rows WHERE format IS NOT NULL;

-- Architectures of each package.
SELECT package, version, count(*) AS images, string_agg(DISTINCT arch, ' ' ORDER BY arch) AS archs
FROM images GROUP BY ALL ORDER BY ALL;

-- Bytes of each architecture, as stored in the files and decompressed. Images that are compressed together have no stored size.
SELECT arch, count(*) AS images, sum(stored_size)::BIGINT AS stored, sum(size)::BIGINT AS decompressed
FROM images GROUP BY arch ORDER BY decompressed DESC;

-- Packages with CUDA code and without code for sm_120.
SELECT package, version
FROM images WHERE triple LIKE 'nvptx64%' GROUP BY ALL HAVING NOT bool_or(arch = 'sm_120') ORDER BY ALL;

-- Images that several packages have.
SELECT sha256[:12] AS image, any_value(arch) AS arch, any_value(size) AS size, list_sort(list(DISTINCT package)) AS packages
FROM images WHERE size > 0 GROUP BY sha256 HAVING count(DISTINCT package) > 1 ORDER BY size DESC, image LIMIT 10;

-- Wheels that could not be read.
SELECT wheel, file, error FROM rows WHERE error IS NOT NULL ORDER BY ALL;
