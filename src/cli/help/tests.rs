//! Tests of the layout of pages.

use super::render::render;
use crate::report::Screen;

const PAGE: &str = "# Title: `code`\n\nA paragraph with [a link](other.md), `code` and **bold** words that is wrapped.\n\n## Part\n\n- one\n  and more of it\n\
                    - two\n\n```console\n$ fatbin scan program\n  output\n```\n\n| name | function | bytes |\n|---|---|---:|\n| `a` | short | 1 |\n\
                    | `b` | a long description of several words | 12345 |\n";

fn screen(width: Option<usize>, color: bool) -> Screen {
    Screen { width, color }
}

#[test]
fn pages_are_wrapped_to_the_width_of_the_terminal() {
    let expected = "\
Title: code

A paragraph with a link, code and bold
words that is wrapped.

Part

  - one and more of it
  - two

    $ fatbin scan program
      output

  name  function                   bytes
  a     short                          1
  b     a long description of      12345
        several words
";
    assert_eq!(render(PAGE, &screen(Some(40), false)), expected);
}

#[test]
fn colors_do_not_change_the_layout() {
    let colored = render(PAGE, &screen(Some(40), true));
    assert!(colored.contains("\x1b[1m") && colored.contains("\x1b[36m"), "{colored:?}");
    assert_eq!(console::strip_ansi_codes(&colored), render(PAGE, &screen(Some(40), false)));
}

#[test]
fn lines_are_short_without_a_terminal_and_on_wide_ones() {
    let page = "word ".repeat(100);
    for (width, longest) in [(None, 79), (Some(300), 99), (Some(7), 4)] {
        let text = render(&page, &screen(width, false));
        assert_eq!(text.lines().map(str::len).max(), Some(longest));
    }
}
