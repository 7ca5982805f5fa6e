//! The line that `-v` prints about a compression or decompression.

use fatbin_ops::embed::bundle::CompressionStats;

/// Formats version and codec, sizes, speed and the stored hash as one line.
pub fn line(figures: &CompressionStats) -> String {
    let CompressionStats { version, codec, level, full_size, stored_size, hash, time } = figures;
    let level = level.map(|level| format!(" level {level}")).unwrap_or_default();
    let percent = 100.0 * *stored_size as f64 / (*full_size).max(1) as f64;
    let speed = *full_size as f64 / f64::from(1 << 20) / time.as_secs_f64().max(1e-9);
    format!(
        "version {version}, {}{level}: {stored_size} bytes for {full_size} ({percent:.2} %), {speed:.0} MiB/s, \
         MD5 begins {:016x}",
        codec.name(),
        // In the byte order of md5sum, not as the integer that is stored.
        hash.swap_bytes()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use fatbin_core::base::codec::Codec;

    #[test]
    fn formats_the_figures_as_one_line() {
        let figures = CompressionStats {
            version: 3,
            codec: Codec::Zstd,
            level: Some(3),
            full_size: 8 << 20,
            stored_size: 1 << 20,
            hash: 0x9ebe_1d41_4309_3ba1,
            time: Duration::from_millis(500),
        };
        let expected =
            "version 3, zstd level 3: 1048576 bytes for 8388608 (12.50 %), 16 MiB/s, MD5 begins a13b0943411dbe9e";
        assert_eq!(line(&figures), expected);
    }
}
