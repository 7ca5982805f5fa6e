//! Intel's graphics processors: their names, as compilers and their files state them.
//!
//! | name | example | place |
//! |---|---|---|
//! | of a model | `acm_g10`, `dg2_g10` | DPC++, as `intel_gpu_acm_g10` |
//! | version of its architecture | `12.55.8` | members of ocloc's archives, zebin notes; DPC++, as `intel_gpu_12_55_8` |
//! | of a product family | `dg2` | members of ocloc's archives; a number in zebin files |
//! | of a core family | `gen9` | options of ocloc; a number in code with patch tokens |

#[cfg(test)]
mod tests;

use object::elf;

use crate::base::short_text::ShortText;

/// ELF machine of Intel's graphics processors (registry of ELF machines).
pub const EM_INTELGT: elf::Machine = elf::Machine(205);

/// Owner of the notes about the target, and their types: number of the product family, and version of its architecture
/// (Intel, compute-runtime, `zebin_elf.h`).
pub const NOTE_OWNER: &[u8] = b"IntelGT";
pub const NOTE_PRODUCT_FAMILY: u32 = 1;
pub const NOTE_PRODUCT_CONFIG: u32 = 6;

/// Prefix of the names in options and in device images (DPC++, `-fsycl-targets`).
pub const PREFIX: &str = "intel_gpu_";

/// Names of the product families, as ocloc has them, by their numbers. Source: the output of ocloc 22.43 for each name;
/// from 1272 on, intel-graphics-compiler, `igfxfmid.h`; for 1380, the files of vllm-xpu-kernels 0.1.16.2.
#[rustfmt::skip]
static PRODUCTS: [(u32, ShortText<8>); 24] = [
    product(16, "bdw"), product(18, "skl"), product(19, "kbl"), product(20, "cfl"), product(22, "apl"),
    product(23, "glk"), product(26, "icllp"), product(27, "lkf"), product(28, "ehl"), product(29, "tgllp"),
    product(30, "rkl"), product(31, "adls"), product(32, "adlp"), product(33, "adln"), product(1210, "dg1"),
    product(1250, "xehp_sdv"), product(1270, "dg2"), product(1271, "pvc"), product(1272, "mtl"), product(1273, "arl"),
    product(1274, "bmg"), product(1275, "lnl"), product(1300, "ptl"), product(1380, "cri"),
];

const fn product(number: u32, name: &str) -> (u32, ShortText<8>) {
    (number, ShortText::new(name))
}

/// How well code fits a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFit {
    /// Built for the model or its family.
    Exact,
    /// Built for another family that the driver takes code for.
    Compatible,
}

/// A model that compilers write code for.
#[derive(Debug, PartialEq, Eq)]
pub struct Model {
    /// Name in DPC++'s runtime, without the prefix.
    pub name: ShortText<7>,
    /// Other names that DPC++ accepts, separated by spaces.
    aliases: ShortText<17>,
    /// Versions of its architecture, separated by spaces. DPC++ accepts the first. The others are steppings that the
    /// driver treats alike.
    versions: ShortText<20>,
    /// Product family.
    product: ShortText<8>,
}

const fn model(name: &str, aliases: &str, versions: &str, product: &str) -> Model {
    Model {
        name: ShortText::new(name),
        aliases: ShortText::new(aliases),
        versions: ShortText::new(versions),
        product: ShortText::new(product),
    }
}

/// Every model, in the order of the versions. For the name of a product family, ocloc compiles for its first model.
/// Source: DPC++ (intel/llvm, November 2026), `resolveGenDevice`, the names in libsycl 9, and ocloc 22.43, `ids`;
/// further versions and families of models since MTL: compute-runtime, `platforms.h` of 2025.
static MODELS: [Model; 35] = [
    model("bdw", "", "8.0.0", "bdw"),
    model("skl", "", "9.0.9", "skl"),
    model("kbl", "", "9.1.9", "kbl"),
    model("cfl", "", "9.2.9", "cfl"),
    model("apl", "bxt", "9.3.0", "apl"),
    model("glk", "", "9.4.0", "glk"),
    model("whl", "", "9.5.0", "cfl"),
    model("aml", "", "9.6.0", "kbl"),
    model("cml", "", "9.7.0", "cfl"),
    model("icllp", "icl", "11.0.0", "icllp"),
    model("ehl", "jsl", "11.2.0", "ehl"),
    model("tgllp", "tgl", "12.0.0", "tgllp"),
    model("rkl", "", "12.1.0", "rkl"),
    model("adl_s", "rpl_s", "12.2.0", "adls"),
    model("adl_p", "", "12.3.0", "adlp"),
    model("adl_n", "", "12.4.0", "adln"),
    model("dg1", "", "12.10.0", "dg1"),
    model("acm_g10", "dg2_g10", "12.55.8", "dg2"),
    model("acm_g11", "dg2_g11", "12.56.5", "dg2"),
    model("acm_g12", "dg2_g12", "12.57.0", "dg2"),
    model("pvc", "", "12.60.7", "pvc"),
    model("pvc_vg", "", "12.61.7", "pvc_vg"),
    model("mtl_u", "mtl_s arl_u arl_s", "12.70.4", "mtl"),
    model("mtl_h", "", "12.71.4", "mtl"),
    model("arl_h", "", "12.74.4", "arl"),
    model("bmg_g21", "", "20.1.4 20.1.0 20.1.1", "bmg"),
    model("bmg_g31", "", "20.2.0", "bmg"),
    model("lnl_m", "", "20.4.4", "lnl"),
    model("ptl_h", "", "30.0.4", "ptl"),
    model("ptl_u", "", "30.1.1 30.1.0", "ptl"),
    model("wcl", "", "30.3.0 30.3.1", "ptl"),
    model("nvl_s", "nvl_hx nvl_ul", "30.4.0", "nvl_s"),
    model("nvl_u", "nvl_h", "30.5.0", "nvl_u"),
    model("nvl_p", "", "35.10.0", "nvl_p"),
    model("cri", "", "35.11.0", "cri"),
];

/// A product family, and a model of another family that the driver also accepts its code for. Source: compute-runtime,
/// `platforms.h` of 2025, `compatibilityMapping`. (The driver does not take code that states the version of PVC for
/// PVC-VG, so PVC-VG is a family here.)
const COMPATIBLE: [(&str, &str); 1] = [("bmg", "lnl_m")];

/// A core family: several product families whose drivers accept the same code with patch tokens.
#[derive(Debug, PartialEq, Eq)]
struct CoreFamily {
    /// Number in code with patch tokens (compute-runtime, `GFXCORE_FAMILY`).
    number: u32,
    /// Name for ocloc, with an underscore for a hyphen.
    name: ShortText<7>,
    /// What the versions of its architecture begin with, separated by spaces.
    versions: ShortText<41>,
}

const fn core_family(number: u32, name: &str, versions: &str) -> CoreFamily {
    CoreFamily { number, name: ShortText::new(name), versions: ShortText::new(versions) }
}

/// Source: output of ocloc 22.43 for each name, and `ocloc ids` for the versions; for 12.70 to 12.74 compute-runtime,
/// `platforms.h` of 2025. Later core families have zebin only.
static CORE_FAMILIES: [CoreFamily; 7] = [
    core_family(11, "gen8", "8."),
    core_family(12, "gen9", "9."),
    core_family(15, "gen11", "11."),
    core_family(18, "gen12lp", "12.0. 12.1. 12.2. 12.3. 12.4. 12.10."),
    core_family(0xc05, "xe_hp", "12.50."),
    core_family(0xc07, "xe_hpg", "12.55. 12.56. 12.57. 12.70. 12.71. 12.74."),
    core_family(0xc08, "xe_hpc", "12.60. 12.61."),
];

impl CoreFamily {
    fn named(name: &str) -> Option<&'static CoreFamily> {
        CORE_FAMILIES.iter().find(|family| is_spelled(&family.name, name))
    }

    fn has(&self, model: &Model) -> bool {
        self.versions.split(' ').any(|start| model.versions.starts_with(start))
    }
}

/// Returns the name of a core family; `None` for an unknown one.
pub fn core_name(number: u32) -> Option<&'static str> {
    CORE_FAMILIES.iter().find(|family| family.number == number).map(|family| &*family.name)
}

/// Target of code, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Core(&'static CoreFamily),
    Product(&'static str),
    Model(&'static Model),
}

impl Target {
    fn named(name: &str) -> Option<Target> {
        let name = without_prefix(name);
        let product = product_named(name).map(Target::Product);
        product.or_else(|| Model::named(name).map(Target::Model)).or_else(|| CoreFamily::named(name).map(Target::Core))
    }
}

impl Model {
    /// Returns the model that DPC++ compiles for, by its name without the prefix or by a version.
    pub fn named(name: &str) -> Option<&'static Model> {
        let is_written = |known: &str| is_spelled(known, name);
        let is_name =
            |model: &&Model| is_written(&model.name) || model.aliases.split_ascii_whitespace().any(is_written);
        let has_version = |model: &&Model| model.versions.split(' ').any(is_written);
        MODELS.iter().find(is_name).or_else(|| MODELS.iter().find(has_version))
    }

    /// Returns the models that a name of a device denotes, without the prefix: one, or all of a product family or a core
    /// family.
    pub fn all_named(name: &str) -> Vec<&'static Model> {
        match (Model::named(name), CoreFamily::named(name)) {
            (Some(model), _) => vec![model],
            (None, Some(family)) => MODELS.iter().filter(|model| family.has(model)).collect(),
            (None, None) => MODELS.iter().filter(|model| is_spelled(&model.product, name)).collect(),
        }
    }

    /// Returns how well machine code for an arch fits the model; `None` if it does not run.
    pub fn fit(&self, arch: &str) -> Option<ModelFit> {
        match Target::named(arch)? {
            Target::Model(model) if model == self => Some(ModelFit::Exact),
            Target::Product(product) if self.product == *product => Some(ModelFit::Exact),
            Target::Core(family) if family.has(self) => Some(ModelFit::Exact),
            Target::Product(product) if COMPATIBLE.contains(&(product, &self.name)) => Some(ModelFit::Compatible),
            Target::Model(_) | Target::Product(_) | Target::Core(_) => None,
        }
    }
}

/// Returns the name of a product family as it is in the tables.
fn product_named(name: &str) -> Option<&'static str> {
    let numbered = PRODUCTS.iter().map(|(_, product)| product);
    let all = numbered.chain(MODELS.iter().map(|model| &model.product));
    all.map(|product| &**product).find(|product| is_spelled(product, name))
}

fn without_prefix(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// Returns whether a name stands for one of the tables. ocloc writes hyphens where DPC++ has underscores, and accepts
/// capitals (compute-runtime, `ProductConfigHelper::adjustDeviceName`). DPC++ writes versions with underscores.
fn is_spelled(known: &str, written: &str) -> bool {
    let is_same = |(known, written): (u8, u8)| match written {
        b'-' => known == b'_',
        b'_' => known == b'_' || known == b'.',
        _ => known == written.to_ascii_lowercase(),
    };
    known.len() == written.len() && known.bytes().zip(written.bytes()).all(is_same)
}

/// Returns the spelling of a name that DPC++ has: `arl-h` is `arl_h`.
pub fn spelled(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Returns the name of a product family; `None` for an unknown one.
pub fn product_name(number: u32) -> Option<&'static str> {
    PRODUCTS.iter().find(|(known, _)| *known == number).map(|(_, name)| &**name)
}

/// Returns the version of an architecture in the form of ocloc, such as `12.55.8`: 10 bits, 8 bits and, after 8 bits
/// that are reserved, 6 bits (Intel, compute-runtime, `hw_ip_version`).
pub fn ip_version(config: u32) -> String {
    format!("{}.{}.{}", config >> 22, config >> 14 & 0xff, config & 0x3f)
}

/// Returns the arch of code from its notes: the name of its product family and the version of its architecture. The
/// arch is the name of the family, unless the version belongs to another model than the one that this name stands for.
pub fn arch_of_notes(product: Option<&'static str>, version: Option<&str>) -> Option<String> {
    let Some(version) = version else { return product.map(str::to_owned) };
    let model = Model::named(version);
    let is_first = |model: &Model| MODELS.iter().find(|it| it.product == model.product) == Some(model);
    match (model, product) {
        (Some(model), Some(product)) if model.product == *product && is_first(model) => Some(product.to_owned()),
        (Some(model), _) => Some(model.name.to_string()),
        (None, _) => Some(version.to_owned()),
    }
}

/// Returns the arch of a member of ocloc's archives, from its name without the size of pointers. For a version, it is
/// the name of the model, otherwise the same name.
pub fn arch_of_member(name: &str) -> &str {
    match Target::named(name) {
        Some(Target::Model(model)) => &model.name,
        Some(Target::Product(product)) => product,
        Some(Target::Core(family)) => &family.name,
        None => name,
    }
}

/// Returns whether two names denote the same target.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || Target::named(one).is_some_and(|target| Target::named(other) == Some(target))
}

/// Returns whether code for an arch runs on all models that a name denotes.
pub fn serves(arch: &str, requested: &str) -> bool {
    let models = models(requested);
    !models.is_empty() && models.into_iter().all(|model| model.fit(arch).is_some())
}

/// Returns whether the archs together serve all models that a name denotes: each model runs code for one of them.
pub fn are_served(archs: &[&str], requested: &str) -> bool {
    let models = models(requested);
    !models.is_empty() && models.into_iter().all(|model| archs.iter().any(|arch| model.fit(arch).is_some()))
}

/// Returns whether an arch denotes all models of a name, or their family.
pub fn is_for(arch: &str, requested: &str) -> bool {
    let models = models(requested);
    !models.is_empty() && models.into_iter().all(|model| model.fit(arch) == Some(ModelFit::Exact))
}

fn models(name: &str) -> Vec<&'static Model> {
    Model::all_named(without_prefix(name))
}

/// Returns whether an arch is a whole product family or core family. The driver prefers code for single models.
pub fn is_family(arch: &str) -> bool {
    matches!(Target::named(arch), Some(Target::Product(_) | Target::Core(_)))
}

/// Returns whether code whose notes state the arch `own` can be the code for `stated`, the arch in its container.
pub fn can_be(own: &str, stated: &str) -> bool {
    match (Target::named(own), Target::named(stated)) {
        (Some(Target::Product(product)), Some(Target::Model(model))) => model.product == *product,
        (Some(Target::Core(family)), Some(Target::Model(model))) => family.has(model),
        (Some(Target::Core(family)), Some(Target::Product(product))) => {
            MODELS.iter().any(|model| model.product == *product && family.has(model))
        }
        (Some(own), Some(stated)) => own == stated,
        _ => own == stated,
    }
}

/// Returns whether this is a name of code or of a device, with or without the prefix.
pub fn is_name(name: &str) -> bool {
    Target::named(name).is_some()
}

/// Returns the name of the device or device family that code for an arch runs on, or that any spelling denotes.
pub fn device_name(arch: &str) -> String {
    format!("{PREFIX}{}", spelled(without_prefix(arch)))
}

/// Returns the names of devices, with their prefix.
pub fn device_names() -> impl Iterator<Item = String> {
    let names = MODELS.iter().flat_map(|it| it.name.split(' ').chain(it.aliases.split_ascii_whitespace()));
    let families = ["dg2", "mtl", "bmg", "ptl"];
    names.chain(families).map(|name| format!("{PREFIX}{name}"))
}
