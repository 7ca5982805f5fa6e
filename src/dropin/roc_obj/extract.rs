//! roc-obj-extract: writes the code objects at addresses to files.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use super::short_options::ShortOptions;
use super::{NOT_FOUND, deprecated};
use crate::access;
use crate::diagnostics::{TextOutput, write_messages};
use crate::llvm_options::{bytes, text};
use fatbin_core::base::bytes::Extent;
use fatbin_core::base::error::Result as FileResult;
use fatbin_core::base::io::{FileSet, FileUri, Input, Output, OutputKind, OutputName};

const VERSION: &str = concat!("fatbin ", env!("CARGO_PKG_VERSION"), ", in place of roc-obj-extract\n");

/// Maximum size of the addresses on standard input, in bytes.
const MAX_ADDRESSES: u64 = 64 << 20;

/// Characters between a path and its range; the script accepts a comma, too.
const RANGE: [char; 3] = ['#', ',', '?'];

/// Runs as the tool. The exit status is the number of errors.
pub fn run(program: &OsStr, arguments: &[OsString]) -> u8 {
    let line = ShortOptions::parse(arguments, b"vho");
    write_messages(&line.warnings);
    let mut out = TextOutput::default();
    if line.is_version {
        out.push(VERSION);
        return out.flush();
    }
    write_messages(&format!("Warning: {}", deprecated()));
    if line.has(b'h') {
        out.push(&usage(program));
        return out.flush();
    }
    if let Some(directory) = line.output.as_ref().filter(|output| *output != "-" && !Path::new(output).is_dir()) {
        write_messages(&format!("Error: Path '{}' cannot be found.\n", directory.display()));
        return NOT_FOUND;
    }
    let addresses =
        if line.operands.is_empty() { addresses_of_input() } else { line.operands.iter().map(shown).collect() };
    if addresses.is_empty() {
        write_messages("Error: No arguments.\n");
        out.push(&usage(program));
        out.flush();
        return 1;
    }
    let mut extraction = Extraction { is_verbose: line.has(b'v'), output: line.output, out };
    let mut errors = 0_u8;
    for address in addresses {
        if let Err(message) = extraction.extract(&address) {
            write_messages(&format!("Error: {message}\n"));
            errors = errors.saturating_add(1);
        }
    }
    errors.max(extraction.out.flush())
}

fn shown(argument: &OsString) -> String {
    text(bytes(argument))
}

/// Lines of standard input, unless it is a terminal.
fn addresses_of_input() -> Vec<String> {
    let input = io::stdin();
    if input.is_terminal() {
        return Vec::new();
    }
    let mut contents = Vec::new();
    // The text before an error contains complete addresses, or an invalid one.
    let _ = input.lock().take(MAX_ADDRESSES).read_to_end(&mut contents);
    text(&contents).lines().map(str::to_owned).collect()
}

fn usage(program: &OsStr) -> String {
    format!(
        "Usage: {} [-o|v|h] URI... \n\
         \x20 URIs can be read from STDIN, one per line.\n\
         \x20 From the URIs specified, extracts code objects into files named: \
         <executable_name>-[pid<number>]-offset<number>-size<number>.co\n\n\
         Options:\n\
         \x20 -o <path> \tPath for output. If \"-\" specified, code object is printed to STDOUT.\n\
         \x20 -v        \tVerbose output to STDOUT.\n\
         \x20 -h        \tShow this help message.\n\n\
         URI syntax:\n\
         \tcode_object_uri ::== file_uri | memory_uri\n\
         \tfile_uri        ::== \"file://\" extract_file [ range_specifier ]\n\
         \tmemory_uri      ::== \"memory://\" process_id range_specifier\n\
         \trange_specifier ::== range_delimiter range_attribute [\"&\" range_attribute]\n\
         \trange_delimiter ::== \"#\" | \"?\"\n\
         \trange_attribute ::== [\"offset=\" number | \"size=\" number ]\n\
         \textract_file    ::== URI_ENCODED_OS_FILE_PATH\n\
         \tprocess_id      ::== DECIMAL_NUMBER\n\
         \tnumber          ::== HEX_NUMBER | DECIMAL_NUMBER | OCTAL_NUMBER\n\n\
         \tExample: file://dir1/dir2/hello_world#offset=133&size=14472 \n\
         \t         memory://1234#offset=0x20000&size=3000\n\n\
         \x20 NOTES:\n\n\
         \tWhen specifying a URI in a shell command you will need to escape the '&' character in the range_specifier.\n\
         \tIf \"size=\" is not specified, the default is the remainder of the file from the given offset.\n\n",
        program.display()
    )
}

/// The extraction of all addresses.
#[derive(Debug)]
struct Extraction {
    is_verbose: bool,
    /// Directory, or `-` for standard output.
    output: Option<OsString>,
    out: TextOutput,
}

/// An address, with its numbers as written.
struct Address<'a> {
    /// Path in its encoded form.
    encoded: &'a str,
    path: PathBuf,
    offset: Option<&'a str>,
    size: Option<&'a str>,
}

impl Extraction {
    /// Extracts the bytes of an address.
    fn extract(&mut self, address: &str) -> Result<(), String> {
        let address = parse(address)?;
        let Address { encoded, path, .. } = &address;
        let missing = || format!("can't find file: {}", path.display());
        let input = Input::open_file(path.clone(), access::get()).map_err(|_| missing())?;
        let stated_offset = address.offset.unwrap_or("0");
        let offset = number(stated_offset)?;
        let rest = input.size().saturating_sub(offset).to_string();
        let stated_size = address.size.unwrap_or(&rest);
        let size = number(stated_size)?;
        let range = format!("offset={stated_offset} with size={stated_size}");
        if size == 0 {
            let text = format!("Warning: trying to extract from {encoded} at {range}.  Nothing to extract.\n");
            self.report(&text);
            return Ok(());
        }
        self.report(&format!("Reading input file \"{encoded}\" ...\n"));
        if offset.checked_add(size).is_none_or(|end| end > input.size()) {
            return Err(format!(
                "requested offset({stated_offset}) + size({stated_size}) exceeds file size({}) for file \"{}\".",
                input.size(),
                path.display()
            ));
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).display();
        let name = OutputName::of(format!("{name}-offset{stated_offset}-size{stated_size}.co"));
        self.write(&input, offset, size, &name).map_err(|error| error.to_string())?;
        self.report(&format!("Extract request:  file: {encoded} offset: {stated_offset} size: {stated_size}\n"));
        Ok(())
    }

    fn report(&mut self, text: &str) {
        if self.is_verbose {
            self.out.push(text);
        }
    }

    fn write(&mut self, input: &Input, offset: u64, size: u64, name: &OutputName) -> FileResult<()> {
        let directory = self.output.as_deref().map_or(Path::new("."), Path::new);
        let set = FileSet::new().updating(true);
        let output = if directory == Path::new("-") {
            // Earlier text must precede the bytes.
            self.out.flush();
            Output::create(set.output(directory, OutputKind::Code)?)?
        } else {
            Output::create(set.output_in(directory, name, OutputKind::Code)?)?
        };
        let bytes =
            input.view().part("address", Extent { offset, size }).map_err(|error| error.in_file(input.path()))?;
        output.commit_bytes(input, bytes.data())
    }
}

/// Parses an address. `size=` and `offset=` may be in any order, or missing.
fn parse(address: &str) -> Result<Address<'_>, String> {
    let (protocol, rest) = address.split_once("://").unwrap_or((address, ""));
    if protocol.eq_ignore_ascii_case("memory") {
        return Err(format!("'{address}': addresses in the memory of a process are not supported"));
    }
    if !protocol.eq_ignore_ascii_case("file") {
        return Err(format!("'{protocol}' is not recognized as a supported code object URI."));
    }
    let (encoded, range) = rest.split_once(RANGE).unwrap_or((rest, ""));
    let uri = FileUri::parse(Path::new(&format!("file://{encoded}")));
    let path = uri.and_then(Result::ok).ok_or_else(|| format!("can't find file: {encoded}"))?.path;
    let attributes = || range.split(RANGE).next().unwrap_or_default().split('&').filter_map(|it| it.split_once('='));
    let attribute = |name| attributes().rfind(|(own, _)| *own == name).map(|(_, value)| value);
    Ok(Address { encoded, path, offset: attribute("offset"), size: attribute("size") })
}

/// Parses a number as in addresses.
fn number(text: &str) -> Result<u64, String> {
    let uri = FileUri::parse(Path::new(&format!("file://x#offset={text}&size=0"))).and_then(Result::ok);
    let range = uri.and_then(|uri| uri.range);
    range.map(|(number, _)| number).ok_or_else(|| format!("'{text}' is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_ranges_in_any_order() {
        let cases = [
            ("file://a%20b#offset=1&size=2", "a b", Some("1"), Some("2")),
            ("FILE://a?size=2&offset=0x1", "a", Some("0x1"), Some("2")),
            ("file://a,size=2", "a", None, Some("2")),
            ("file:///x/a", "/x/a", None, None),
        ];
        for (text, path, offset, size) in cases {
            let address = parse(text).unwrap();
            assert_eq!((address.path, address.offset, address.size), (PathBuf::from(path), offset, size), "{text}");
        }
        for (text, message) in
            [("http://x", "'http' is not"), ("memory://1#offset=0&size=1", "not supported"), ("x", "'x'")]
        {
            let error = parse(text).err().unwrap_or_default();
            assert!(error.contains(message), "{error}");
        }
        assert_eq!((number("0x10"), number("010"), number("7")), (Ok(16), Ok(8), Ok(7)));
        assert!(number("-1").is_err() && number("").is_err());
    }
}
