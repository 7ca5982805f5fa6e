//! Linker scripts that add sections to a default layout: `SECTIONS { … } INSERT AFTER SECTION;`.
//!
//! Source: the manual of GNU ld 2.40, "Command Language"; lld reads the same statements.

use fatbin_core::base::brackets::Brackets;

/// A script that is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A script that replaces the default layout.
    #[error(
        "a script without INSERT replaces the layout of the linker, which cannot be predicted; use SECTIONS with INSERT"
    )]
    ReplacesLayout,
    /// A statement that is not supported.
    #[error("unsupported statement in a linker script: {0}")]
    Unsupported(String),
}

/// Sections that a script adds to a default layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Output sections, in order.
    pub sections: Vec<ScriptSection>,
    /// True if they follow the anchor, false if they precede it.
    pub is_after: bool,
    /// Section of the default layout.
    pub anchor: String,
}

/// An output section of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSection {
    /// Name.
    pub name: String,
    /// Patterns for the names of the input sections.
    pub patterns: Vec<String>,
}

impl Script {
    /// Parses a script. A script without sections has none.
    pub fn parse(text: &str) -> Result<Vec<Script>, ScriptError> {
        let tokens = tokens(text);
        let mut tokens = tokens.iter().map(String::as_str).peekable();
        let mut scripts = Vec::new();
        let mut pending = Vec::new();
        while let Some(token) = tokens.next() {
            match token {
                "SECTIONS" => pending.extend(sections(&mut tokens)?),
                "INSERT" => {
                    let is_after = tokens.next() == Some("AFTER");
                    let anchor = tokens.next().unwrap_or_default().to_owned();
                    scripts.push(Script { sections: std::mem::take(&mut pending), is_after, anchor });
                }
                ";" => {}
                // Statements that are not about sections. Their arguments are in parentheses.
                _ if tokens.peek() == Some(&"(") => skip_group(&mut tokens, "(", ")"),
                other => return Err(ScriptError::Unsupported(other.to_owned())),
            }
        }
        if pending.is_empty() { Ok(scripts) } else { Err(ScriptError::ReplacesLayout) }
    }

    /// Text of the script.
    pub fn text(&self) -> String {
        let mut text = "/* Device sections after all others, written by fatbin doctor. */\nSECTIONS\n{\n".to_owned();
        for ScriptSection { name, patterns } in &self.sections {
            text += &format!("  {name} : {{ *({}) }}\n", patterns.join(" "));
        }
        let place = if self.is_after { "AFTER" } else { "BEFORE" };
        text + &format!("}}\nINSERT {place} {};\n", self.anchor)
    }
}

impl ScriptSection {
    /// True if an input section belongs to this section.
    pub fn takes(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
    }
}

/// In a pattern, `*` matches any text and `?` any character.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut at = 0;
    let mut from = 0;
    // The last `*` in the pattern, and the start of the text after what it has matched.
    let mut star = None;
    while let Some(&character) = name.get(from) {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(&expected) if expected == b'?' || expected == character => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((star_at, matched)) = star else { return false };
                star = Some((star_at, matched + 1));
                (at, from) = (star_at + 1, matched + 1);
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|&character| character == b'*')
}

/// Splits a script into names, and the punctuation that separates statements.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if first.is_whitespace() || first == ',' {
            rest = &rest[first.len_utf8()..];
        } else if "{}();:=".contains(first) {
            tokens.push(first.to_string());
            rest = &rest[1..];
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "{}();:=,".contains(c)).unwrap_or(rest.len());
            tokens.push(rest[..end].trim_matches('"').to_owned());
            rest = &rest[end..];
        }
    }
    tokens
}

/// Reads the output sections in the braces after `SECTIONS`.
fn sections<'a>(
    tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Vec<ScriptSection>, ScriptError> {
    tokens.next_if_eq(&"{");
    let mut sections = Vec::new();
    loop {
        let Some(name) = tokens.next().filter(|token| *token != "}") else { return Ok(sections) };
        if name == ";" {
            continue;
        }
        // A type may follow the name of a section. An address or an alignment may not: it would move the section.
        if tokens.peek() == Some(&"(") {
            skip_group(tokens, "(", ")");
        }
        if tokens.next() != Some(":") {
            return Err(ScriptError::Unsupported(name.to_owned()));
        }
        while let Some(token) = tokens.next_if(|token| *token != "{" && *token != "}") {
            if token == "(" {
                skip_to(tokens, ")");
            }
        }
        sections.push(ScriptSection { name: name.to_owned(), patterns: patterns(tokens) });
    }
}

/// Reads the patterns in the braces of an output section.
fn patterns<'a>(tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Vec<String> {
    tokens.next_if_eq(&"{");
    let mut patterns = Vec::new();
    let mut parentheses = Brackets::default();
    let mut file = "";
    for token in tokens {
        match token {
            "}" => break,
            "(" => parentheses.open(),
            ")" => parentheses.close(),
            _ if !parentheses.is_open() => file = token,
            "KEEP" | "SORT" | "SORT_BY_NAME" | "SORT_BY_ALIGNMENT" | "SORT_BY_INIT_PRIORITY" => {}
            // `KEEP(*(.text))`: the pattern of files is in parentheses, too.
            "*" if file == "KEEP" => file = "*",
            _ => patterns.push(token.to_owned()),
        }
    }
    patterns
}

/// Skips parentheses, which may be nested.
fn skip_group<'a>(tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>, open: &str, close: &str) {
    let mut group = Brackets::default();
    for token in tokens {
        if token == open {
            group.open();
        } else if token == close {
            group.close();
            if !group.is_open() {
                return;
            }
        }
    }
}

fn skip_to<'a>(tokens: &mut impl Iterator<Item = &'a str>, close: &str) {
    tokens.find(|token| *token == close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_written() {
        let section = |name: &str| ScriptSection { name: name.to_owned(), patterns: vec![name.to_owned()] };
        let sections = vec![section(".nv_fatbin"), section(".hip_fatbin")];
        let script = Script { sections, is_after: true, anchor: ".bss".to_owned() };
        assert_eq!(Script::parse(&script.text()), Ok(vec![script]));
    }

    #[test]
    fn reads_the_forms_of_statements() {
        let text = r#"
            /* RCCL's, with more. */
            SECTIONS {
              .hip_fatbin (NOLOAD) : ALIGN(4096) { KEEP(*(.hip_fatbin)) *(SORT(.hip_fatbin.*)) }
              "x" : { *(.a .b) }
            } INSERT BEFORE .data ; PROVIDE(x = 1);"#;
        let scripts = Script::parse(text).unwrap();
        let [script] = &scripts[..] else { panic!("{scripts:?}") };
        assert_eq!((script.is_after, script.anchor.as_str()), (false, ".data"));
        let [first, second] = &script.sections[..] else { panic!("{script:?}") };
        assert_eq!((first.name.as_str(), second.name.as_str()), (".hip_fatbin", "x"));
        assert!(first.takes(".hip_fatbin") && first.takes(".hip_fatbin.1") && !first.takes(".text"), "{first:?}");
        assert!(second.takes(".b") && !second.takes(".bb"));
    }

    #[test]
    fn what_replaces_the_layout_is_refused() {
        assert_eq!(Script::parse("SECTIONS { .text : { *(.text) } }"), Err(ScriptError::ReplacesLayout));
        assert_eq!(Script::parse("MEMORY { }"), Err(ScriptError::Unsupported("MEMORY".to_owned())));
        assert_eq!(Script::parse("GROUP ( /lib/libc.so.6 AS_NEEDED ( x ) )"), Ok(Vec::new()));
        for damaged in ["SECTIONS", "SECTIONS {", "SECTIONS { .a", "SECTIONS { .a : {", "INSERT", "SECTIONS { .a : ( "]
        {
            let _ = Script::parse(damaged);
        }
    }
}
