//! NVIDIA's cuobjdump, compared with its drop-in.
//!
//! | module | trials |
//! |---|---|
//! | [`compare`] | lists, extraction and dumps of objects, archives and containers; mistakes |
//! | [`forged`] | entries of every kind and with every flag |
//! | [`kinds`] | code with 32-bit addresses, Tile IR, LTO-IR, OptiX IR, and containers without entries |
//! | [`libraries`] | libraries that people install |
//! | [`divergences`] | the divergences that the module of the drop-in lists |

mod compare;
mod divergences;
mod forged;
mod kinds;
mod libraries;

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::dropin::{Call, Pair};
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory, without_spaces};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("options".to_owned(), compare::options),
        trial("mistakes".to_owned(), compare::mistakes),
        trial("entries".to_owned(), forged::entries),
        trial("kinds".to_owned(), kinds::kinds),
        trial("divergences".to_owned(), divergences::divergences),
    ];
    trials.extend(libraries::trials());
    trials
}

fn trial(name: String, test: impl Fn(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("cuobjdump/{name}"), move || {
        // cuobjdump names files after the part of the input's path before a space.
        completion(fresh_directory("cuobjdump", &directory).and_then(|directory| without_spaces(&directory, test)))
    })
}

fn pair(directory: &Path) -> Result<Pair> {
    Pair::new(directory, "cuobjdump", &Tool::Cuobjdump.path()?)
}

/// Both programs print the same about a file in `..`, for each list of options.
fn same(pair: &Pair, file: &str, lists: &[&str]) -> Result<()> {
    for options in lists {
        let path = format!("../{file}");
        let line: Vec<&str> = options.split_whitespace().chain([path.as_str()]).collect();
        let result = pair.same(&Call::new(&line))?;
        ensure!(result.status == 0 || result.out.is_empty() || result.status == 255, "{line:?}: {result:?}");
    }
    Ok(())
}
