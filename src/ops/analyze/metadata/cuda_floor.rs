//! The oldest CUDA driver that loads a package.

use crate::analyze::select::FileFloors;
use crate::analyze::survey::Survey;
use fatbin_core::format::readers::Product;

/// Returns the oldest CUDA version of a driver that loads the image that each device prefers; `None` if it is not known.
pub fn cuda_floor(files: &[Survey]) -> Option<String> {
    let mut newest = None;
    for survey in files {
        for (product, need) in FileFloors::new(&survey.file, &survey.cuda_codes()).of_all_devices() {
            if product == Product::Cuda && !need.floor.is_known() {
                return None;
            }
            if product == Product::Cuda {
                newest = newest.max(need.floor.release().map(|release| release.version));
            }
        }
    }
    newest.map(|(major, minor): (u32, u32)| format!("{major}.{minor}"))
}
