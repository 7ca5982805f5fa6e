//! Scanned files that `select` asks about several devices.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::problems::Problems;
use crate::report::KernelGap;
use fatbin_core::scan::inventory::{CudaCode, File};
use fatbin_core::scan::{Outcome, ScannedFile};
use fatbin_ops::analyze::requires::Driver;
use fatbin_ops::analyze::select::DriverCheck;
use fatbin_ops::analyze::select::{AnsweredFile, ImageRequirements, NamedDevice};

/// A file that was scanned, or the record of one that could not be.
pub enum Scanned {
    Open {
        file: ScannedFile,
        /// Kernels of the images that were read.
        kernels: RefCell<BTreeMap<usize, BTreeSet<String>>>,
    },
    Closed(File),
}

impl Scanned {
    pub fn new(outcome: Outcome, problems: &Problems) -> Self {
        match outcome {
            Outcome::Scanned(file) => Scanned::Open { file, kernels: RefCell::default() },
            outcome => {
                let (file, error) = outcome.into_file();
                if let Some(error) = error {
                    problems.report(error);
                }
                Scanned::Closed(file)
            }
        }
    }

    /// The inventory, which may have only the reason why the file cannot be read.
    pub fn file(&self) -> &File {
        match self {
            Scanned::Open { file, .. } => file.file(),
            Scanned::Closed(file) => file,
        }
    }

    /// Reads the properties of the images, including compressed cubins. Returns false if a cubin cannot be read.
    fn requirements(&self, problems: &Problems) -> (ImageRequirements, bool) {
        let file = self.file();
        let codes = match self {
            Scanned::Open { file, .. } => {
                fatbin_ops::analyze::survey::cuda_codes(file).map_err(|error| problems.report(error))
            }
            Scanned::Closed(_) => Ok(Vec::new()),
        };
        let mut is_read = codes.is_ok();
        let codes = codes.unwrap_or_default();
        for (number, (image, code)) in file.device_images().zip(&codes).enumerate() {
            if let Some(Err(problem)) = code {
                problems.report(fatbin_core::scan::image_error(&file.path, number, image, problem.clone()));
                is_read = false;
            }
        }
        let codes: Vec<Option<CudaCode>> = codes.into_iter().map(|code| code?.ok()).collect();
        (ImageRequirements::new(file, &codes), is_read)
    }

    /// Reads the images in the gaps of a file to list the kernels in them.
    fn gaps<'a>(&self, answered: &AnsweredFile<'a>, problems: &Problems) -> Vec<KernelGap<'a>> {
        let mut kernels = BTreeMap::new();
        if let Scanned::Open { file, kernels: known } = self {
            let unserved = answered.gaps().into_iter().flat_map(|gap| gap.images);
            let unread: BTreeSet<usize> = unserved.filter(|number| !known.borrow().contains_key(number)).collect();
            if !unread.is_empty() {
                match fatbin_core::scan::inspect::kernels_of(file, &unread) {
                    Ok(read) => known.borrow_mut().extend(read),
                    Err(error) => drop(problems.report(error)),
                }
            }
            kernels.clone_from(&known.borrow());
        }
        let gaps = answered.gaps().into_iter().map(|gap| {
            let own = gap.images.iter().filter_map(|number| kernels.get(number));
            KernelGap { kernels: own.flatten().cloned().collect(), gap }
        });
        gaps.collect()
    }

    /// Returns the answers of a file on a device, and the kernels that the device does not get. Returns false if an image
    /// cannot be read.
    pub fn answers<'a>(
        &'a self,
        device: &'a NamedDevice,
        driver: Option<&Driver>,
        problems: &Problems,
    ) -> (AnsweredFile<'a>, Vec<KernelGap<'a>>, bool) {
        let mut is_complete = true;
        let answered = match driver {
            None => AnsweredFile::new(self.file(), &device.devices),
            Some(driver) => {
                let (requirements, is_read) = self.requirements(problems);
                is_complete = is_read;
                let check = DriverCheck { driver, requirements: &requirements };
                AnsweredFile::with_driver(self.file(), &device.devices, Some(check))
            }
        };
        let gaps = self.gaps(&answered, problems);
        (answered, gaps, is_complete)
    }
}
