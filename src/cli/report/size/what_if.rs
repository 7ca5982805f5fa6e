//! Effects of changes, as a table and as JSON.

use std::time::Duration;

use super::{SizeReport, growth};
use crate::report::Screen;
use crate::report::text::{Column, columns};
use fatbin_core::base::json::JsonWriter;
use fatbin_ops::edit::what_if::Effect;

/// Formats a line for each change; nothing if there are none. The time is for the slowest arch.
pub fn what_if_table(report: &SizeReport, screen: &Screen) -> String {
    let Some((_, unchanged)) = report.effects.first() else { return String::new() };
    let sampled = match report.sample {
        100 => String::new(),
        percent => format!(", estimated from {percent} % of the bytes"),
    };
    let heading = format!("what if{sampled}; decompression of the images of an arch, in one thread of this machine\n");
    let headings: Vec<Column> = [Column::left("CHANGE")]
        .into_iter()
        .chain(["BYTES", "DIFFERENCE", "%", "DECOMPRESSION"].map(Column::right))
        .chain([Column::left("OF")])
        .collect();
    let rows = report.effects.iter().map(|(name, effect)| {
        let difference = i128::from(effect.size).saturating_sub(i128::from(unchanged.size));
        let slowest = effect.times.iter().max_by_key(|(_, time)| **time);
        let (arch, time) = slowest.map(|(arch, time)| (arch.clone(), milliseconds(*time))).unwrap_or_default();
        let growth = growth(effect.size, unchanged.size);
        vec![name.clone(), screen.size(effect.size), screen.growth(difference), growth, time, arch]
    });
    heading + &columns(&headings, rows, screen)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", 1000.0 * time.as_secs_f64())
}

/// Writes a change and its effect.
pub fn write_effect(json: &mut JsonWriter, report: &SizeReport, (change, effect): &(String, Effect)) {
    json.field("change", change);
    json.field("size", effect.size);
    json.field("sample_percent", report.sample);
    json.objects("decompression", &effect.times, |json, (arch, time)| {
        json.field("arch", arch);
        json.field("microseconds", time.as_micros() as u64);
    });
}
