//! `examples/index/spark_index.py` on a Spark cluster of two workers, one of whose executors is killed in the middle of a task,
//! beside one run of `fatbin scan`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::coverage::TORCHVISION;
use crate::harness::program::write_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool, fetched, find_in, in_path, not_fetched};
use crate::real_files;

/// Damaged wheels, one without device code, and one that is missing: each has a row without an image.
const TRUNCATED: &str = "truncated-1.0-py3-none-any.whl";
const PLAIN: &str = "plain-1.0-py3-none-any.whl";
const ABSENT: &str = "absent-1.0-py3-none-any.whl";

/// Programs of the trial: the worker, and the script that kills its executor.
const SCRIPTS: [(&str, &str); 2] =
    [("worker.sh", include_str!("worker.sh")), ("kill-executor.sh", include_str!("kill-executor.sh"))];

pub fn a_killed_executor_loses_and_doubles_nothing(directory: &Path) -> Result<()> {
    let spark = Spark::find(directory)?;
    let known = real_files::wheels()?;
    let mut wheels: Vec<PathBuf> = known.iter().map(|(path, _)| path.clone()).collect();
    wheels.push(find_in(&fetched("torchvision"), TORCHVISION).ok_or_else(|| not_fetched("torchvision"))?);
    wheels.extend(bad_wheels(directory, &wheels[0])?);
    let list: String = wheels.iter().map(|path| format!("{}\n", path.display())).collect();
    fs::write(directory.join("list"), list)?;

    let serial =
        Step::new(directory, "sh").arg("-c").arg("\"$0\" scan --ndjson --hash --files-from list; test $? -eq 2");
    fs::write(directory.join("serial.ndjson"), serial.arg(env!("CARGO_BIN_EXE_fatbin")).run()?.stdout)?;
    let indexed = spark.index(directory)?;
    let compared = spark.python(directory).arg(farm_file("compare.py")).args(["serial.ndjson", "index"]).run()?;
    let compared_document: Value = serde_json::from_str(&compared.stdout)?;

    has_lost_an_executor(directory, &indexed)?;
    ensure!(
        compared_document["lost"] == json!([]) && compared_document["doubled"] == json!([]),
        compared.error("rows")
    );
    for (wheel, images) in &known {
        let name = wheel.file_name().context("a name")?.to_string_lossy();
        ensure!(
            compared_document["images"][&*name] == json!(images),
            compared.error(format!("{name}: {images} images"))
        );
    }
    answers_are_right(&compared_document["answers"]).map_err(|error| compared.error(error))?;
    spark.reports_wheels_without_rows(directory)
}

/// The distribution of Spark and the interpreter.
struct Spark {
    home: PathBuf,
    python: PathBuf,
    path: String,
}

impl Spark {
    /// Finds what the trial needs. The directory of the distribution is one of the trial: Spark writes to it.
    fn find(directory: &Path) -> Result<Spark> {
        Tool::Java.path()?;
        let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
        let (spark, duckdb) = (fetched("spark"), fetched("duckdb"));
        for site in [&spark, &duckdb] {
            ensure!(site.is_dir(), not_fetched(&site.display().to_string()));
        }
        let home = directory.join("spark");
        fs::create_dir(&home)?;
        for part in ["bin", "jars"] {
            std::os::unix::fs::symlink(spark.join("pyspark").join(part), home.join(part))?;
        }
        let path = [spark.clone(), spark.join("py4j.zip"), duckdb].map(|path| path.display().to_string()).join(":");
        Ok(Spark { home, python, path })
    }

    fn python(&self, directory: &Path) -> Step {
        Step::new(directory, &self.python).env("PYTHONPATH", &self.path)
    }

    /// Runs the example with two workers. Two wheels per task are four tasks and more.
    fn index(&self, directory: &Path) -> Result<Done> {
        for (name, script) in SCRIPTS {
            write_program(&directory.join(name), script)?;
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fatbin"), directory.join("fatbin"))?;
        let worker = format!("{}/worker.sh", directory.display());
        self.submit(directory, "local-cluster[2,1,1024]", &worker, "index").run()
    }

    /// Runs the example with a program that ends with status 1, as fatbin does where there is no device code, and prints nothing.
    fn reports_wheels_without_rows(&self, directory: &Path) -> Result<()> {
        let submitted = self.submit(directory, "local[1]", "/bin/false", "empty").run();
        let Err(error) = submitted else { anyhow::bail!("an index without rows was accepted") };
        ensure!(error.to_string().contains("9 wheels have no row, such as "), "{error:#}");
        Ok(())
    }

    fn submit(&self, directory: &Path, master: &str, fatbin: &str, index: &str) -> Step {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/index/spark_index.py");
        Step::new(directory, self.home.join("bin/spark-submit"))
            .env("SPARK_HOME", &self.home)
            .env("PYTHONPATH", &self.path)
            .env("PYSPARK_PYTHON", &self.python)
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .env("SPARK_LOCAL_DIRS", directory.join("local"))
            .args(["--master", master, "--conf", "spark.ui.enabled=false", example])
            .args(["--fatbin", fatbin, "--wheels-per-task", "2", "list", index])
    }
}

fn farm_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/farm").join(name)
}

/// Creates the wheels of the trial, and returns their paths and that of a wheel that does not exist.
fn bad_wheels(directory: &Path, good: &Path) -> Result<[PathBuf; 3]> {
    let bytes = fs::read(good)?;
    fs::write(directory.join(TRUNCATED), &bytes[..bytes.len() / 2])?;
    let mut plain = zip::ZipWriter::new(fs::File::create(directory.join(PLAIN))?);
    plain.start_file("plain.py", zip::write::SimpleFileOptions::default())?;
    plain.finish()?;
    Ok([TRUNCATED, PLAIN, ABSENT].map(|name| directory.join(name)))
}

/// Checks that Spark has lost an executor and repeated its task, and that fatbin has not survived its executor.
fn has_lost_an_executor(directory: &Path, indexed: &Done) -> Result<()> {
    ensure!(directory.join("killed").is_dir(), indexed.error("no executor was killed"));
    let is_repeated = |line: &str| line.contains("Starting task ") && line.contains(".1 in stage ");
    ensure!(indexed.report.lines().any(is_repeated), indexed.error("no task was repeated"));
    let outcome = directory.join("outcome");
    let start = Instant::now();
    while !outcome.exists() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let outcome = fs::read_to_string(&outcome).with_context(|| indexed.report.clone())?;
    ensure!(outcome.trim() == "ended", indexed.error("fatbin still runs though its executor was killed"));
    Ok(())
}

/// Checks the answers to `queries.sql` as far as they follow from the packages.
fn answers_are_right(answers: &Value) -> Result<()> {
    let [packages, archs, without, identical, errors] = answers.as_array().context("answers")?.as_slice() else {
        anyhow::bail!("five answers are expected")
    };
    let names =
        |rows: &Value| -> Vec<Value> { rows.as_array().into_iter().flatten().map(|row| row[0].clone()).collect() };
    ensure!(names(packages).contains(&json!("torchvision")), "packages");
    ensure!(names(archs).contains(&json!("sm_90")) && names(archs).contains(&json!("gfx942")), "architectures");
    ensure!(names(without) == [json!("qiskit_aer_gpu")], "packages without sm_120");
    ensure!(!names(identical).is_empty(), "identical images");
    let unreadable: Vec<Value> = names(errors);
    let is_listed = |name| unreadable.iter().any(|wheel| wheel.as_str().is_some_and(|wheel| wheel.ends_with(name)));
    ensure!(is_listed(TRUNCATED) && is_listed(ABSENT) && !is_listed(PLAIN), "errors");
    Ok(())
}
