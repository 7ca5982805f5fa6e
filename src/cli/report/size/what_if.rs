//! Effects of changes, as a table and as JSON.

use std::time::Duration;

use serde::Serialize;

use super::{SizeReport, growth};
use crate::cli::report::Screen;
use crate::cli::report::text::{Column, columns};

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

/// Effect of a change in JSON.
#[derive(Serialize)]
pub struct JsonEffect<'a> {
    change: &'a str,
    size: u64,
    sample_percent: u32,
    decompression: Vec<JsonTime<'a>>,
}

#[derive(Serialize)]
struct JsonTime<'a> {
    arch: &'a str,
    microseconds: u64,
}

/// Returns the effects of all changes.
pub fn effects(report: &SizeReport) -> Vec<JsonEffect<'_>> {
    report
        .effects
        .iter()
        .map(|(change, effect)| JsonEffect {
            change,
            size: effect.size,
            sample_percent: report.sample,
            decompression: effect
                .times
                .iter()
                .map(|(arch, time)| JsonTime { arch, microseconds: time.as_micros() as u64 })
                .collect(),
        })
        .collect()
}
