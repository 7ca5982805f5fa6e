//! Intel's graphics processors: their names, as compilers and their files state them.
//!
//! | name | example | place |
//! |---|---|---|
//! | of a model | `acm_g10`, `dg2_g10` | DPC++, as `intel_gpu_acm_g10` |
//! | version of its architecture | `12.55.8` | members of ocloc's archives, zebin notes; DPC++, as `intel_gpu_12_55_8` |
//! | of a product family | `dg2` | members of ocloc's archives; a number in zebin files |

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

/// Target of code, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Product(&'static str),
    Model(&'static Model),
}

impl Target {
    fn named(name: &str) -> Option<Target> {
        let name = without_prefix(name);
        product_named(name).map(Target::Product).or_else(|| Model::named(name).map(Target::Model))
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

    /// Returns the models that a name of a device denotes, without the prefix: one, or all of a product family.
    pub fn all_named(name: &str) -> Vec<&'static Model> {
        match Model::named(name) {
            Some(model) => vec![model],
            None => MODELS.iter().filter(|model| is_spelled(&model.product, name)).collect(),
        }
    }

    /// Returns how well machine code for an arch fits the model; `None` if it does not run.
    pub fn fit(&self, arch: &str) -> Option<ModelFit> {
        match Target::named(arch)? {
            Target::Model(model) if model == self => Some(ModelFit::Exact),
            Target::Product(product) if self.product == *product => Some(ModelFit::Exact),
            Target::Product(product) if COMPATIBLE.contains(&(product, &self.name)) => Some(ModelFit::Compatible),
            Target::Model(_) | Target::Product(_) => None,
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

/// Returns whether an arch is a whole product family. The driver prefers code for single models.
pub fn is_product(arch: &str) -> bool {
    matches!(Target::named(arch), Some(Target::Product(_)))
}

/// Returns whether code whose notes state the arch `own` can be the code for `stated`, the arch in its container.
pub fn can_be(own: &str, stated: &str) -> bool {
    match (Target::named(own), Target::named(stated)) {
        (Some(Target::Product(product)), Some(Target::Model(model))) => model.product == *product,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn products_have_unique_numbers_in_order_and_unique_names() {
        assert!(PRODUCTS.is_sorted_by(|(one, _), (other, _)| one < other));
        let names: BTreeSet<_> = PRODUCTS.iter().map(|(_, name)| &**name).collect();
        assert_eq!(names.len(), PRODUCTS.len());
        assert_eq!((product_name(1271), product_name(1)), (Some("pvc"), None));
    }

    #[test]
    fn versions_have_three_parts() {
        assert_eq!(ip_version(12 << 22 | 55 << 14 | 8), "12.55.8");
        assert_eq!(ip_version(20 << 22 | 1 << 14 | 4), "20.1.4");
    }

    #[test]
    fn every_name_and_version_leads_to_one_model() {
        let mut seen = BTreeSet::new();
        for model in &MODELS {
            let names = [&*model.name, &*model.aliases, &*model.versions].join(" ");
            for name in names.split_ascii_whitespace() {
                assert!(seen.insert(name.to_owned()), "{name} twice");
                assert_eq!(Model::named(name), Some(model), "{name}");
                assert_eq!(Model::named(&name.replace('.', "_")), Some(model), "{name}");
            }
        }
        assert_eq!(Model::named("dg2"), None);
        assert_eq!(Model::all_named("dg2").len(), 3);
        assert_eq!(Model::all_named("dg3").len(), 0);
    }

    #[test]
    fn names_of_ocloc_have_hyphens_and_capitals() {
        for (written, model) in [("arl-h", "arl_h"), ("PVC", "pvc"), ("dg2-g10", "acm_g10"), ("Lnl-M", "lnl_m")] {
            assert_eq!(Model::named(written).map(|model| &*model.name), Some(model), "{written}");
            assert_eq!(Model::named(&format!("{PREFIX}{written}")), None, "{written}");
            assert!(is_name(written) && is_name(&device_name(written)) && is_same(written, model), "{written}");
        }
        assert_eq!(
            (device_name("ARL-H"), device_name("intel_gpu_pvc")),
            ("intel_gpu_arl_h".into(), "intel_gpu_pvc".into())
        );
        assert_eq!(Model::named("12-74-4"), None);
        assert_eq!(Model::all_named("BMG").len(), 2);
        assert!(serves("bmg", "BMG-G31") && !is_name("arlh") && !is_name("arl.h"));
    }

    #[test]
    fn code_runs_on_its_model_and_on_the_models_of_its_family() {
        #[rustfmt::skip]
        let rows = [
            ("acm_g10", "dg2_g10", Some(ModelFit::Exact)),
            ("12.55.8", "acm_g10", Some(ModelFit::Exact)),
            ("intel_gpu_dg2_g10", "acm_g10", Some(ModelFit::Exact)),
            ("acm_g11", "acm_g10", None),
            ("dg2", "acm_g10", Some(ModelFit::Exact)),
            ("dg2", "acm_g12", Some(ModelFit::Exact)),
            ("dg2", "pvc", None),
            ("20.1.0", "bmg_g21", Some(ModelFit::Exact)),
            ("bmg", "bmg_g31", Some(ModelFit::Exact)),
            ("bmg", "lnl_m", Some(ModelFit::Compatible)),
            ("bmg_g21", "lnl_m", None),
            ("lnl", "bmg_g21", None),
            ("pvc", "pvc", Some(ModelFit::Exact)),
            ("pvc", "pvc_vg", None),
            ("12.60.1", "pvc", None),
            ("cfl", "whl", Some(ModelFit::Exact)),
            ("unheard-of", "pvc", None),
        ];
        for (arch, device, expected) in rows {
            assert_eq!(Model::named(device).unwrap().fit(arch), expected, "{arch} on {device}");
        }
    }

    #[test]
    fn notes_lead_to_the_family_or_to_another_model_of_it() {
        let rows = [
            (Some("dg2"), None, Some("dg2")),
            (Some("dg2"), Some("12.55.8"), Some("dg2")),
            (Some("dg2"), Some("12.57.0"), Some("acm_g12")),
            (Some("bmg"), Some("20.1.0"), Some("bmg")),
            (Some("bmg"), Some("20.2.0"), Some("bmg_g31")),
            (Some("pvc"), Some("12.60.1"), Some("12.60.1")),
            (None, Some("35.10.0"), Some("nvl_p")),
            (None, None, None),
        ];
        for (product, version, expected) in rows {
            assert_eq!(arch_of_notes(product, version).as_deref(), expected, "{product:?} {version:?}");
        }
    }

    #[test]
    fn a_container_may_state_one_model_of_the_family_in_the_notes() {
        assert!(can_be("dg2", "acm_g11") && can_be("dg2", "dg2") && can_be("12.60.1", "12.60.1"));
        assert!(!can_be("acm_g11", "dg2") && !can_be("dg2", "pvc") && !can_be("12.60.1", "pvc"));
    }
}
