//! fatbin on many machines: as the worker of Apache Spark, and behind a build cache.

mod cache;
mod cost;
mod spark;

use std::path::Path;

use anyhow::Result;
use libtest_mimic::Trial;

use crate::harness::trial::{completion, fresh_directory};

/// Name of a trial, and its test in a directory of its own.
type Test = (&'static str, fn(&Path) -> Result<()>);

const TRIALS: [Test; 3] = [
    ("spark", spark::a_killed_executor_loses_and_doubles_nothing),
    ("cost", cost::hours_follow_from_the_throughput_on_a_sample),
    ("bazel", cache::links_of_equal_objects_come_from_the_cache),
];

pub fn trials() -> Vec<Trial> {
    let trial = |&(name, test): &Test| {
        Trial::ignorable_test(format!("farm/{name}"), move || {
            completion(fresh_directory("farm", name).and_then(|directory| test(&directory)))
        })
    };
    TRIALS.iter().map(trial).collect()
}
