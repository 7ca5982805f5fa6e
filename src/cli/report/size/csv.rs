//! Sizes as comma-separated values: a line for each row of the innermost level, with the labels of all levels.

use super::SizeReport;
use fatbin_ops::analyze::size::Row;

/// Formats sizes. The first line has the names of the columns. Source: RFC 4180, with line feeds as ends of lines.
pub fn size_csv(report: &SizeReport) -> String {
    let levels = report.levels.iter().map(|level| level.name());
    let numbers: &[&str] = match report.total_before {
        None => &["stored", "decompressed"],
        Some(_) => &["stored", "decompressed", "stored_before", "decompressed_before"],
    };
    let mut text = line(levels.chain(numbers.iter().copied()));
    add_lines(&report.rows, &mut Vec::new(), report.levels.len(), &mut text);
    text
}

fn add_lines<'a>(rows: &'a [Row], labels: &mut Vec<&'a str>, count: usize, text: &mut String) {
    for row in rows {
        labels.push(row.label.text());
        if row.rows.is_empty() {
            let sizes = [row.size].into_iter().chain(row.before);
            let numbers: Vec<String> =
                sizes.flat_map(|size| [size.stored, size.decompressed]).map(|size| size.to_string()).collect();
            // Bytes without a name have the same label at all levels that follow.
            let repeated = std::iter::repeat_n(row.label.text(), count.saturating_sub(labels.len()));
            *text += &line(labels.iter().copied().chain(repeated).chain(numbers.iter().map(String::as_str)));
        } else {
            add_lines(&row.rows, labels, count, text);
        }
        labels.pop();
    }
}

/// Formats a line. Values with special characters are quoted.
fn line<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let quoted = |value: &str| {
        if value.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", value.replace('"', "\"\""))
        } else {
            value.to_owned()
        }
    };
    values.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_commas_and_quotes_are_quoted() {
        assert_eq!(line(["f<1, 2>(\"x\")", "plain", ""].into_iter()), "\"f<1, 2>(\"\"x\"\")\",plain,\n");
    }
}
