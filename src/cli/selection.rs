//! The options that select images, as all commands take them that can do with some of a file's.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::ops::{Criterion, Selection};
use crate::target::OffloadKind;

/// Values of one option are alternatives; what different options ask for must all hold.
#[derive(Args)]
pub struct SelectionArguments {
    /// Only images of this offload kind
    #[arg(long, value_name = "KIND")]
    kind: Vec<Kind>,

    /// Only images with this triple
    #[arg(long, value_name = "TRIPLE")]
    triple: Vec<String>,

    /// Only images for this processor with these features: gfx90a:xnack+, sm_90a
    #[arg(long, value_name = "ARCH")]
    arch: Vec<String>,

    /// Only images that can serve this arch: equal or generic processor and no contradicting feature, PTX for later ones
    #[arg(long, value_name = "ARCH")]
    compatible_with: Vec<String>,

    /// Only images whose container says KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_key)]
    key: Vec<(String, String)>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    #[value(name = "openmp")]
    OpenMp,
    Cuda,
    Hip,
    Sycl,
}

impl SelectionArguments {
    pub fn selection(&self) -> Selection {
        let kinds = self.kind.iter().map(|&kind| Criterion::Kind(kind.into()));
        let triples = self.triple.iter().cloned().map(Criterion::Triple);
        let archs = self.arch.iter().cloned().map(Criterion::Arch);
        let compatible = self.compatible_with.iter().cloned().map(Criterion::CompatibleWith);
        let keys = self.key.iter().cloned().map(|(key, value)| Criterion::Key(key, value));
        Selection(kinds.chain(triples).chain(archs).chain(compatible).chain(keys).collect())
    }
}

impl From<Kind> for OffloadKind {
    fn from(kind: Kind) -> OffloadKind {
        match kind {
            Kind::OpenMp => OffloadKind::OpenMp,
            Kind::Cuda => OffloadKind::Cuda,
            Kind::Hip => OffloadKind::Hip,
            Kind::Sycl => OffloadKind::Sycl,
        }
    }
}

fn parse_key(text: &str) -> Result<(String, String)> {
    let (key, value) = text.split_once('=').with_context(|| format!("{text:?} is not KEY=VALUE"))?;
    if key.is_empty() {
        bail!("{text:?} has no key");
    }
    Ok((key.to_owned(), value.to_owned()))
}
