//! The figures of `-verbose`, one per line.

use super::write_stderr;
use fatbin_core::base::codec::Codec;
use fatbin_core::format::ccob::Version;
use fatbin_ops::embed::bundle::CompressionStats;

/// Line about a bundle that is not compressed.
const UNCOMPRESSED: &str = "Uncompressed bundle.\n";

/// Prints the figures of the compressed bundles in a file of this size. Prints nothing for a file smaller than
/// `smallest`.
pub fn print(size: u64, figures: &[CompressionStats], smallest: u64) {
    if figures.is_empty() && size >= smallest {
        write_stderr(UNCOMPRESSED);
    }
    for figures in figures {
        write_stderr(&decompressed(figures));
    }
}

/// Figures of a bundle that was compressed.
pub fn compressed(figures: &CompressionStats) -> String {
    let mut lines = vec![format!("Compressed bundle format version: {}", figures.version)];
    if figures.version >= 2 {
        lines.push(format!("Total file size (including headers): {} bytes", with_commas(total_size(figures))));
    }
    lines.extend([
        format!("Compression method used: {}", figures.codec.name()),
        format!("Compression level: {}", figures.level.unwrap_or_default()),
        format!("Binary size before compression: {} bytes", with_commas(figures.full_size)),
        format!("Binary size after compression: {} bytes", with_commas(figures.stored_size)),
        rates(figures),
        format!("Compression speed: {:.2} MB/s", speed(figures)),
        format!("Truncated MD5 hash: {:#016x}\n", figures.hash),
    ]);
    lines.join("\n")
}

/// Figures of a bundle that was decompressed. The hashes match, because decompression verifies the hash.
fn decompressed(figures: &CompressionStats) -> String {
    let mut lines = vec![format!("Compressed bundle format version: {}", figures.version)];
    if figures.version >= 2 {
        lines.push(format!("Total file size (from header): {} bytes", with_commas(total_size(figures))));
    }
    let method = if figures.codec == Codec::Zlib { "zlib" } else { "zstd" };
    lines.extend([
        format!("Decompression method: {method}"),
        format!("Size before decompression: {} bytes", with_commas(figures.stored_size)),
        format!("Size after decompression: {} bytes", with_commas(figures.full_size)),
        rates(figures),
        format!("Decompression speed: {:.2} MB/s", speed(figures)),
        format!("Stored hash: {:#016x}", figures.hash),
        format!("Recalculated hash: {:#016x}", figures.hash),
        "Hashes match: Yes\n".to_owned(),
    ]);
    lines.join("\n")
}

fn total_size(figures: &CompressionStats) -> u64 {
    let header = Version::from_number(figures.version.into()).map_or(0, Version::header_size);
    header + figures.stored_size
}

fn rates(figures: &CompressionStats) -> String {
    let rate = figures.full_size as f64 / figures.stored_size as f64;
    format!("Compression rate: {rate:.2}\nCompression ratio: {:.2}%", 100.0 / rate)
}

fn speed(figures: &CompressionStats) -> f64 {
    figures.full_size as f64 / f64::from(1 << 20) / figures.time.as_secs_f64()
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_thousands_by_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(with_commas(number), text);
        }
    }
}
