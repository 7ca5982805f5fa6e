//! Table of `inspect`: one line per image, followed by one row per kernel.
//!
//! Figures that no kernel of an image has are left out, so that each image gets the columns of its vendor.
//! On narrow terminals, so are figures that are 0.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::report::Screen;
use crate::report::table::metadata_entries;
use crate::report::text::{Column, columns, counted, printable};
use fatbin_core::base::bytes::total;
use fatbin_core::image::{DebugInfo, DebugLevel, Figure, Kernel, family};
use fatbin_core::scan::inventory::{File, Property, PropertySet, PropertyValue};
use fatbin_core::target::OffloadKind;
use fatbin_ops::analyze::inspect::InspectedImage;

/// Returns the contents of one image of the file `path`, with a final newline.
pub fn inspection_table(path: &str, inspected: &InspectedImage<'_>, screen: &Screen) -> String {
    let kernels = &inspected.inspection.kernels;
    let table = if kernels.is_empty() { String::new() } else { table(kernels, screen) };
    image_block(path, inspected, &table)
}

/// Returns the contents of one image. Many kernels are summed by family.
pub fn inspection_rollup(path: &str, inspected: &InspectedImage<'_>, screen: &Screen) -> String {
    match family_rows(&inspected.inspection.kernels, screen) {
        Some(families) => image_block(path, inspected, &families),
        None => inspection_table(path, inspected, screen),
    }
}

/// Maximum number of kernels that are listed without their families.
const FEW: usize = 8;

/// Formats a row for each family. `None` for few kernels, or if each is a separate family. A figure is a
/// range, and the code is a sum.
fn family_rows(kernels: &[Kernel], screen: &Screen) -> Option<String> {
    let mut families: BTreeMap<String, Vec<&Kernel>> = BTreeMap::new();
    for kernel in kernels {
        families.entry(family(kernel.demangled.as_ref().unwrap_or(&kernel.name))).or_default().push(kernel);
    }
    if kernels.len() <= FEW || families.len() == kernels.len() {
        return None;
    }
    let figures = figures(screen, |figure| {
        kernels.iter().map(|kernel| figure.value(kernel).map(|value| value.to_string())).collect()
    });
    let mut headings: Vec<Column> = figures.iter().map(|figure| Column::right(heading(*figure))).collect();
    headings.extend([Column::right("KERNELS"), Column::name("FAMILY")]);
    let mut families: Vec<(String, Vec<&Kernel>)> = families.into_iter().collect();
    families.sort_by_cached_key(|(_, kernels)| Reverse(kernels.len()));
    let rows = families.into_iter().map(|(name, kernels)| {
        let figures = figures.iter().map(|figure| family_cell(*figure, &kernels, screen));
        figures.chain([kernels.len().to_string(), printable(&name)]).collect()
    });
    Some(columns(&headings, rows, screen))
}

fn family_cell(figure: Figure, kernels: &[&Kernel], screen: &Screen) -> String {
    let values = || kernels.iter().filter_map(|kernel| figure.value(kernel));
    match (values().min(), values().max()) {
        (Some(_), _) if figure == Figure::CodeSize => screen.size(total(values())),
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least}-{most}"),
        _ => "-".to_owned(),
    }
}

fn image_block(path: &str, inspected: &InspectedImage<'_>, table: &str) -> String {
    let InspectedImage { number, image, inspection } = inspected;
    let target = [image.kind.map(OffloadKind::name), image.triple.as_deref(), image.arch.as_deref()];
    let target = target.into_iter().flatten().chain([image.image_kind.name()]);
    let target: Vec<String> = target.map(printable).collect();
    let kernels = match (inspection.kernels.len(), inspection.not_inspected) {
        (0, Some(reason)) => format!("not inspected: {reason}"),
        (0, None) => "no kernels".to_owned(),
        (count, _) => counted(count, "kernel"),
    };
    let debug = match inspection.debug.level {
        DebugLevel::None => "",
        DebugLevel::Lines => ", line tables",
        DebugLevel::Full => ", full debug information",
    };
    let part = if image.is_part() { ", a part of one program" } else { "" };
    let mut text = format!("{}: image {number}: {}, {kernels}{part}{debug}\n", printable(path), target.join(" "));
    text += &image.cuda.virtual_arch.map_or(String::new(), |arch| format!("  compiled from PTX for compute_{arch}\n"));
    text += table;
    text.extend(image.property_sets.iter().map(property_set));
    text + &compilers(&inspection.debug)
}

fn property_set(set: &PropertySet) -> String {
    let property = |property: &Property| match property.value {
        PropertyValue::Number(value) => format!("{}={value}", printable(&property.name)),
        PropertyValue::Bytes(_) => printable(&property.name),
    };
    let mut listed: Vec<String> = set.properties.iter().take(MAX_NAMED).map(property).collect();
    let more = set.properties.iter().skip(MAX_NAMED).count();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    format!("  {}: {}\n", printable(&set.name), listed.join(", "))
}

/// Returns the line for the LTO-IR in the file `path`.
pub fn lto_ir_line(path: &str, count: usize) -> String {
    format!("{}: {} of LTO-IR, not inspected\n", printable(path), counted(count, "image"))
}

/// Returns a line for each entry that holds properties only.
pub fn metadata_lines<'a>(files: impl Iterator<Item = &'a File>) -> String {
    let lines = |file| metadata_entries(file).map(|entry| format!("{}: {entry}\n", printable(&file.path)));
    files.flat_map(lines).collect()
}

/// Returns a line for each file without device images.
pub fn without_images<'a>(files: impl Iterator<Item = &'a File>) -> String {
    let empty = files.filter(|file| file.failure.is_none() && file.device_images().next().is_none());
    empty.map(|file| format!("{}: no device images\n", printable(&file.path))).collect()
}

/// Width of the column of a figure with the gap before it, and of the name of a kernel.
const FIGURE_WIDTH: usize = 8;
const NAME_WIDTH: usize = 16;

/// Returns the figures that some kernel has. On terminals that are too narrow for all, figures that are 0 for all
/// kernels are left out.
fn figures<'a>(screen: &Screen, cells: impl Fn(Figure) -> Vec<Option<String>> + 'a) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Figure::ALL.to_vec();
    figures.retain(|figure| cells(*figure).iter().any(Option::is_some));
    if screen.width.is_some_and(|width| figures.len() * FIGURE_WIDTH + NAME_WIDTH > width) {
        figures.retain(|figure| cells(*figure).iter().flatten().any(|cell| cell != "0"));
    }
    figures
}

fn table(kernels: &[Kernel], screen: &Screen) -> String {
    let figures = figures(screen, |figure| kernels.iter().map(|kernel| cell(figure, kernel)).collect());
    let has_source = kernels.iter().any(|kernel| kernel.source.is_some());
    let mut headings: Vec<Column> = figures.iter().map(|figure| Column::right(heading(*figure))).collect();
    let has_language = kernels.iter().any(|kernel| kernel.language.is_some());
    headings.extend(has_language.then_some(Column::right("MSL")));
    headings.extend(has_source.then_some(Column::left("SOURCE")));
    headings.push(Column::name("KERNEL"));
    let rows = kernels.iter().map(|kernel| {
        let figures = figures.iter().map(|figure| cell(*figure, kernel).unwrap_or("-".to_owned()));
        let language = kernel.language.map_or("-".to_owned(), |(major, minor)| format!("{major}.{minor}"));
        let language = has_language.then_some(language);
        let source = kernel.source.as_ref().map(|source| format!("{}:{}", file_name(&source.file), source.line));
        let source = has_source.then(|| source.map_or("-".to_owned(), |source| printable(&source)));
        let name = printable(kernel.demangled.as_ref().unwrap_or(&kernel.name));
        figures.chain(language).chain(source).chain([name]).collect()
    });
    columns(&headings, rows, screen)
}

fn heading(figure: Figure) -> &'static str {
    match figure {
        Figure::Registers => "REGS",
        Figure::MaxRegisters => "MAXREGS",
        Figure::Vgprs => "VGPRS",
        Figure::Agprs => "AGPRS",
        Figure::Sgprs => "SGPRS",
        Figure::VgprSpills => "VSPILLS",
        Figure::SgprSpills => "SSPILLS",
        Figure::Scratch => "SCRATCH",
        Figure::Shared => "SHARED",
        Figure::Constant => "CONST",
        Figure::ParameterSize => "PARAMS",
        Figure::WaveSize => "WAVE",
        Figure::MaxThreads => "THREADS",
        Figure::MinBlocks => "BLOCKS",
        Figure::CodeSize => "CODE",
    }
}

/// A minimum has a plus sign, and a required work-group shape replaces the number of threads.
fn cell(figure: Figure, kernel: &Kernel) -> Option<String> {
    let value = figure.value(kernel);
    match (figure, value, kernel.required_threads) {
        (Figure::Scratch, Some(size), _) if kernel.scratch_is_minimum => Some(format!("{size}+")),
        (Figure::MaxThreads, _, Some([x, y, z])) => Some(format!("{x}x{y}x{z}")),
        (_, value, _) => value.map(|value| value.to_string()),
    }
}

/// Last component of a Unix or Windows path.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Maximum number of units named per compiler, and of properties per set.
const MAX_NAMED: usize = 4;

/// Formats a line for each compiler, with the units that it compiled in their order.
fn compilers(debug: &DebugInfo) -> String {
    let mut compilers: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for unit in debug.units.iter().filter(|unit| unit.split_file.is_none()) {
        let producer = unit.producer.as_deref().unwrap_or("an unknown compiler");
        let name = unit.name.as_deref().unwrap_or("-");
        let number = *known.entry(producer).or_insert(compilers.len());
        match compilers.get_mut(number) {
            Some((_, names)) => names.push(name),
            None => compilers.push((producer, vec![name])),
        }
    }
    let line = |(producer, names): &(&str, Vec<&str>)| {
        format!("  compiled by {}: {}\n", printable(producer), printable(&listed(names)))
    };
    let split = debug.units.iter().filter_map(|unit| unit.split_file.as_deref()).map(printable);
    let split: Vec<String> = split.collect();
    let split = (!split.is_empty()).then(|| format!("  debug information in other files: {}\n", listed(&split)));
    compilers.iter().map(line).chain(split).collect()
}

/// Lists the first names, and the number of all others.
fn listed(names: &[impl AsRef<str>]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_NAMED).map(AsRef::as_ref).collect();
    let first = first.join(", ");
    match names.iter().skip(MAX_NAMED).count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
