//! The help of NVIDIA's tools.

use super::{NvidiaOption, NvidiaTool, ValueType};

/// Number of blanks after the longest text of a column.
const GAP: usize = 2;

/// Text of the help.
pub fn help(tool: &NvidiaTool) -> String {
    let options = (tool.options)();
    let listed = || options.iter().filter(|option| !option.help.is_empty());
    let long_column = listed().map(|option| long(option).len()).max().unwrap_or(0) + GAP;
    let short_column = listed().map(|option| short(option).len()).max().unwrap_or(0) + GAP;
    let mut text = format!("\nUsage  : {} {}\n\nOptions\n=======\n\n", tool.name, tool.arguments);
    for option in listed() {
        text += &format!("{:long_column$}{:short_column$}\n", long(option), short(option));
        for line in option.help.lines() {
            text += &format!("        {line}\n");
        }
        if let ValueType::Image(keywords) = option.value {
            let keywords: Vec<String> = keywords.iter().map(|keyword| format!("'{keyword}'")).collect();
            text += &format!("        Allowed keywords for this option:  {}.\n", keywords.join(","));
        }
        text += "\n";
    }
    text + "\n"
}

fn long(option: &NvidiaOption) -> String {
    let value = match option.value {
        ValueType::Flag => String::new(),
        ValueType::Boolean => " [true,false]".to_owned(),
        ValueType::Image(_) => " <image spec>,...".to_owned(),
        ValueType::NamedFlag(name)
        | ValueType::Text(name)
        | ValueType::List(name)
        | ValueType::Number(name)
        | ValueType::Choice(name, _)
        | ValueType::OptionFiles(name) => format!(" {name}"),
    };
    format!("--{}{value}", option.long)
}

fn short(option: &NvidiaOption) -> String {
    format!("(-{})", option.short)
}
