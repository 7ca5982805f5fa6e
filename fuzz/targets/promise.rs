//! Reads arbitrary bytes as an index of kernels. The path of the file precedes them, with a NUL between.

#![no_main]

use fatbin::View;
use fatbin::scan::FilePath;
use fatbin_fuzz::{budget, fuzz_target};
use fatbin_ops::analyze::promise::Promise;

fuzz_target!(|data: &[u8]| {
    let Some(split) = data.iter().position(|&byte| byte == 0) else { return };
    let (path, bytes) = (FilePath::parse(&String::from_utf8_lossy(&data[..split])), &data[split + 1..]);
    let budget = budget(bytes);
    let Some(promise) = Promise::read(&path, View::with_budget(bytes, &budget)) else { return };
    assert!(Promise::has_path(&path));
    match promise {
        Err(error) => fatbin_fuzz::check_text(&error),
        Ok(Promise::Kernels(names) | Promise::Files(names)) => {
            assert!(names.iter().map(String::len).sum::<usize>() <= bytes.len(), "names are parts of the index");
        }
        Ok(Promise::Hashes(hashes)) => {
            let names = hashes.iter().map(|hash| hash.name.len() + 2 * hash.sha256.len());
            assert!(names.sum::<usize>() <= bytes.len(), "hashes are parts of the index");
        }
        Ok(Promise::Kernel { name, arch }) => {
            assert!(path.ends_with(&format!("{name}.json")));
            assert!(arch.is_none_or(|arch| arch.len() <= bytes.len() + "sm_".len()));
        }
    }
});
