//! Ratchets on the wording of the source: figures that may fall and not rise.

use super::source_files;

/// Maximum number of documentation comments that begin with a question word. A comment begins with a noun phrase ("Offset
/// of the string table") or a verb ("Parses", "Returns whether").
const MAX_QUESTION_WORDS: usize = 0;

/// Maximum number of occurrences of [`SPEECH`] in the source. Files state, record or specify, and programs print or report.
const MAX_SPEECH: usize = 0;

/// The words that no documentation comment should begin with.
const QUESTION_WORDS: [&str; 6] = ["What", "Whether", "How", "Which", "Where", "Why"];

/// The words of speech, none of which software does.
const SPEECH: [&str; 6] = ["tell", "tells", "told", "say", "says", "said"];

#[test]
fn documentation_begins_with_nouns_and_verbs() {
    let (mut comments, mut found) = (0, Vec::new());
    for file in source_files() {
        let mut previous = None;
        for (number, line) in file.text.lines().enumerate() {
            let comment = documentation(line);
            if let (None, Some(text)) = (previous, comment) {
                comments += 1;
                if QUESTION_WORDS.contains(&first_word(text)) {
                    found.push(format!("{}:{}: {}", file.path.display(), number + 1, text.trim()));
                }
            }
            previous = comment;
        }
    }
    ratchet("documentation comments that begin with a question word", found, MAX_QUESTION_WORDS);
    assert!(comments > 2000, "only {comments} documentation comments found: the search for them is broken");
}

#[test]
fn software_does_not_talk() {
    let mut found = Vec::new();
    for file in source_files() {
        if file.path.ends_with("tidy/wording.rs") {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            let words = line.split(|c: char| !c.is_ascii_alphabetic());
            let count = words.filter(|word| SPEECH.contains(word)).count();
            let place = format!("{}:{}: {}", file.path.display(), number + 1, line.trim());
            found.extend(std::iter::repeat_n(place, count));
        }
    }
    ratchet("words of speech", found, MAX_SPEECH);
}

/// Fails if there are more places than allowed, and prints the figure to lower the limit to if there are fewer.
fn ratchet(subject: &str, found: Vec<String>, limit: usize) {
    assert!(found.len() <= limit, "{} {subject}, at most {limit}:\n{}", found.len(), found.join("\n"));
    println!("{} {subject}", found.len());
    if found.len() < limit {
        println!("lower the limit from {limit} to {}", found.len());
    }
}

/// Returns the text of a documentation comment's line.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

fn first_word(text: &str) -> &str {
    text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default()
}
