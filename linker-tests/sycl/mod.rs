//! Property sets of SYCL images, in libraries that Intel has compiled with DPC++: Intel's runtime looks kernels up by them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{fetched, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Libraries of dpnp 0.20.0, and the numbers of their images.
const LIBRARIES: [(&str, usize); 2] = [("_indexing_impl", 448), ("_window_impl", 20)];

/// Prefix of the names of kernels, which are types.
const TYPE_NAME: &str = "_ZTS";

/// A set that every image has, and the one with a property for each kernel.
const MISC: &str = "SYCL/misc properties";
const KERNELS: &str = "SYCL/kernel param opt";

pub fn trials() -> Vec<Trial> {
    let trial = |(name, count): (&'static str, usize)| {
        Trial::ignorable_test(format!("sycl/{name}"), move || {
            completion(fresh_directory("sycl", name).and_then(|directory| library(&directory, name, count)))
        })
    };
    LIBRARIES.into_iter().map(trial).collect()
}

fn find(name: &str) -> Result<PathBuf> {
    let entries = std::fs::read_dir(fetched("sycl-images")).map_err(|_| not_fetched(name))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_it = |path: &PathBuf| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
    Ok(paths.find(is_it).ok_or_else(|| not_fetched(name))?)
}

/// Every image has property sets, and a kernel that a property names is in the image.
fn library(directory: &Path, name: &str, count: usize) -> Result<()> {
    let library = find(name)?;
    std::fs::copy(&library, directory.join("library.so"))?;
    let done = Step::new(directory, fatbin_program()).args(["inspect", "--json", "library.so"]).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let images = document["files"][0]["images"].as_array().context("images")?;
    ensure!(images.len() == count, "{} images", images.len());
    let mut named = 0;
    for image in images {
        let sets = image["property_sets"].as_array().with_context(|| format!("image {}", image["index"]))?;
        let set = |name: &str| sets.iter().find(|set| set["name"] == name);
        let misc = &set(MISC).context(MISC)?["properties"];
        ensure!(misc.as_array().is_some_and(|properties| !properties.is_empty()), "{image}");
        let kernels: Vec<&Value> = image["kernels"].as_array().into_iter().flatten().map(|it| &it["name"]).collect();
        for property in set(KERNELS).and_then(|set| set["properties"].as_array()).into_iter().flatten() {
            // Other names belong to functions.
            if property["name"].as_str().is_some_and(|name| name.starts_with(TYPE_NAME)) {
                ensure!(kernels.contains(&&property["name"]), "{property} is no kernel of image {}", image["index"]);
                named += 1;
            }
        }
    }
    ensure!(named >= count / 2, "{named} kernels are named");
    Ok(())
}
