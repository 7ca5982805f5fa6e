//! The options about what a build was asked for.

use clap::Args;

use super::failure::{Context, Result};
use super::headings::JUDGEMENT;
use fatbin_ops::check::asked::{Asked, Variable, cuda_release};

/// Lists of architectures that a build was asked for.
#[derive(Debug, Args)]
pub struct AskedArgs {
    /// What the build was asked for, as in TORCH_CUDA_ARCH_LIST: every file must have code for each entry
    ///
    /// Without --policy, the lists are the whole policy.
    #[arg(help_heading = JUDGEMENT, long, value_name = "LIST", conflicts_with = "init")]
    asked: Option<String>,

    /// Like --asked, as in CMAKE_CUDA_ARCHITECTURES
    #[arg(help_heading = JUDGEMENT, long, value_name = "LIST", conflicts_with = "init")]
    asked_cmake: Option<String>,

    /// Like --asked, as in PYTORCH_ROCM_ARCH and other lists of AMD processors
    #[arg(help_heading = JUDGEMENT, long, value_name = "LIST", conflicts_with = "init")]
    asked_hip: Option<String>,

    /// Release of nvcc that all and all-major depend on, such as 12.9 [default: the newest known one]
    #[arg(help_heading = JUDGEMENT, long, value_name = "RELEASE", requires = "asked_cmake")]
    asked_cuda: Option<String>,
}

impl AskedArgs {
    /// Returns the architectures of all lists; `None` if no list is given.
    pub fn asked(&self) -> Result<Option<Asked>> {
        let release = self.asked_cuda.as_deref().map(|text| cuda_release(text).context("--asked-cuda"));
        let release = release.transpose()?;
        let lists = [
            ("--asked", &self.asked, Variable::Torch),
            ("--asked-cmake", &self.asked_cmake, Variable::CMake),
            ("--asked-hip", &self.asked_hip, Variable::Hip),
        ];
        let mut all: Option<Asked> = None;
        for (option, list, variable) in lists {
            let Some(list) = list else { continue };
            let asked = Asked::parse(list, Some(variable), release).context(option)?;
            all.get_or_insert_default().extend(asked);
        }
        Ok(all)
    }
}
