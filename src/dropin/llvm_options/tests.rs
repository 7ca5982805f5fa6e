//! Tests of the parser. Source of each expectation: the behavior of llvm-offload-binary 22.1.8 and its siblings.

use super::*;

static TOOL: Tool = Tool {
    overview: "Does things.\nMany of them.\n",
    category: "some options",
    options: &[
        option("archive", ValueType::Flag, Occurs::Optional, "Make an archive"),
        option("image", ValueType::Text("<key>=<value>,..."), Occurs::Optional, "List"),
        option("kind", ValueType::Choice(&[("openmp", "For OpenMP"), ("hip", "For HIP")]), Occurs::Optional, "Kind:"),
        option("bundle-align", ValueType::Unsigned("uint"), Occurs::Optional, "Alignment\nin bytes"),
        option("targets", ValueType::Text("string"), Occurs::CommaSeparated, "Targets"),
        option("o", ValueType::Text("file"), Occurs::Optional, "Output"),
    ],
    positional: Some(Positional { help: "Extract from <file>.", at_least: 0, at_most: Some(1) }),
};

static STRICT: Tool = Tool {
    overview: "",
    category: "",
    options: &[
        option("kind", ValueType::Choice(&[("hip", "")]), Occurs::Required, ""),
        option("type", ValueType::Text("string"), Occurs::Required, ""),
    ],
    positional: None,
};

const fn option(name: &'static str, value: ValueType, occurs: Occurs, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs, shown: Shown::Always, help }
}

fn parsed(tool: &Tool, line: &str) -> Result<Line, Stop> {
    let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    parse(tool, OsStr::new("/bin/tool"), &arguments)
}

fn line(line: &str) -> Line {
    parsed(&TOOL, line).unwrap_or_else(|stop| panic!("{line}: {}", stop.err))
}

fn errors(tool: &Tool, line: &str) -> String {
    let stop = parsed(tool, line).expect_err(line);
    assert_eq!((stop.status, stop.out.as_str()), (1, ""), "{line}");
    stop.err
}

#[test]
fn accepts_one_dash_or_two_and_a_value_in_either_place() {
    for text in ["--image=x in", "-image=x in", "-image x in", "in --image x", "-image=y -image=x in"] {
        let line = line(text);
        assert_eq!(line.text("image"), Some(OsStr::new("x")), "{text}");
        assert_eq!(line.positional, ["in"], "{text}");
    }
    assert_eq!(line("--image=file=a,triple=b").text("image"), Some(OsStr::new("file=a,triple=b")));
    assert_eq!(line("--image= -o --").text("o"), Some(OsStr::new("--")));
    assert_eq!(line("-- --image=x").positional, ["--image=x"]);
    assert_eq!(line("-").positional, ["-"]);
}

#[test]
fn parses_values_by_the_type_in_the_table() {
    assert!(line("--archive").flag("archive") && line("-archive=TRUE").flag("archive"));
    assert!(!line("--archive --archive=0").flag("archive") && !line("").flag("archive"));
    assert_eq!(line("--bundle-align=0x10").number("bundle-align"), Some(16));
    assert_eq!(line("--kind hip").text("kind"), Some(OsStr::new("hip")));
    let targets = line("--targets=a,,b --targets c --image=a,b");
    assert_eq!(targets.texts("targets").collect::<Vec<_>>(), ["a", "", "b", "c"]);
    assert_eq!(targets.texts("image").collect::<Vec<_>>(), ["a,b"]);
}

#[test]
fn reports_every_error_of_a_line() {
    let found = errors(&TOOL, "a b -frob --bundle-align=x --archive=maybe --kind= -o");
    let expected = "\
tool: Unknown command line argument '-frob'.  Try: '/bin/tool --help'
tool: Did you mean '-o'?
tool: for the --bundle-align option: 'x' value invalid for uint argument!
tool: for the --archive option: 'maybe' is invalid value for boolean argument! Try 0 or 1
tool: for the --kind option: Cannot find option named ''!
tool: for the -o option: requires a value!
tool: Too many positional arguments specified!
Can specify at most 1 positional arguments: See: /bin/tool --help
";
    assert_eq!(found, expected);
}

#[test]
fn reports_missing_options_in_the_order_of_the_table() {
    let missing = "tool: for the --kind option: must be specified at least once!\n\
                   tool: for the --type option: must be specified at least once!\n";
    assert_eq!(errors(&STRICT, ""), missing);
    let unknown = "tool: Unknown command line argument 'a'.  Try: '/bin/tool --help'\n";
    assert_eq!(errors(&STRICT, "-- a"), format!("{unknown}{missing}"), "no positional, no suggestion");
    let wrong = "tool: for the --kind option: Cannot find option named 'x'!\n";
    assert_eq!(errors(&STRICT, "--kind=x --type=a"), wrong, "wrong is not missing");
    let tool = Tool { positional: Some(Positional { help: "", at_least: 1, at_most: None }), options: &[], ..TOOL };
    let few = "tool: Not enough positional command line arguments specified!\n\
               Must specify at least 1 positional argument: See: /bin/tool --help\n";
    assert_eq!(errors(&tool, ""), few);
}

#[test]
fn parses_groups_of_letters() {
    assert!(line("-hh").flag("h"));
    let line = line("-ho=a");
    assert!(line.flag("h"));
    assert_eq!(line.text("o"), Some(OsStr::new("a")));
    for group in ["-ofile", "-hofile", "--obscure"] {
        let found = errors(&TOOL, group);
        assert!(found.starts_with("tool: for the -o option: may not occur within a group!\ntool: Unknown "), "{found}");
        assert!(found.ends_with("tool: Did you mean '-o'?\n"), "{found}");
    }
}

#[test]
fn suggests_an_option_with_its_value_for_the_rest_of_a_group() {
    let cases = [
        ("--imag=file=x", "--image=file=x"),
        ("--=3", "--o=3"),
        ("---", "-o"),
        ("--versio=x", "--version"),
        ("--help-hiden", "--help-hidden"),
        ("--hlist-hidden", "--help-hidden"),
        ("--helpage", "--image"),
    ];
    for (argument, suggestion) in cases {
        let found = errors(&TOOL, argument);
        assert!(found.ends_with(&format!("Did you mean '{suggestion}'?\n")), "{argument}: {found}");
    }
}

#[test]
fn an_action_ends_the_parsing_but_keeps_earlier_errors() {
    let stop = parsed(&TOOL, "-frob --version -o").unwrap_err();
    assert_eq!(stop.status, 0);
    assert!(stop.out.starts_with("fatbin ") && stop.out.ends_with(" in place of /bin/tool\n"), "{}", stop.out);
    assert!(stop.err.contains("-frob") && !stop.err.contains("requires"), "{}", stop.err);
    let message = "tool: for the --help option: does not allow a value! '1' specified.\n";
    assert_eq!(errors(&TOOL, "--help=1"), message);
}

#[test]
fn formats_the_help_in_columns_under_headings() {
    let stop = parsed(&TOOL, "--help").unwrap_err();
    let expected = "\
OVERVIEW: Does things.
Many of them.

USAGE: tool [options] Extract from <file>.

OPTIONS:

Generic Options:

  --help                      - Display available options (--help-hidden for more)
  --help-list                 - Display list of available options (--help-list-hidden for more)
  --version                   - Display the version of this program

some options:

  --archive                   - Make an archive
  --bundle-align=<uint>       - Alignment
                                in bytes
  --image=<<key>=<value>,...> - List
  --kind=<value>              - Kind:
    =openmp                   -   For OpenMP
    =hip                      -   For HIP
  -o <file>                   - Output
  --targets=<string>          - Targets
";
    assert_eq!(stop.out, expected);
    let list = parsed(&TOOL, "--help-list").unwrap_err().out;
    assert_eq!(list, TOOL.short_help(OsStr::new("/bin/tool")));
    assert!(list.contains("OPTIONS:\n  --archive ") && !list.contains("Generic") && !list.contains("help-list "));
    for hidden in ["--help-hidden", "--help-list-hidden"] {
        let help = parsed(&TOOL, hidden).unwrap_err().out;
        assert!(help.contains("--print-all-options  ") && !help.contains("--color"), "{help}");
    }
}
