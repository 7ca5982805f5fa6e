//! AdaptiveCpp's HCF: device code of a SYCL program in any number of forms, usually LLVM bitcode that is compiled at run time.
//!
//! Layout: lines of text, a marker, and the appendix with the code. A line is `KEY=VALUE`, the start `{.NAME` or the end `}.NAME` of a
//! node. A node with code has a node `__binary` with the offset and size of the code in the appendix. The runtime requires the
//! key `object-id`, which compilers write first. Source: AdaptiveCpp, `doc/hcf.md`, `common/hcf_container.hpp` and
//! `TargetSeparationPass.cpp`.

use super::container_type::HCF_MAGIC;
use super::device_image::is_device_code;
use super::{ContainerType, ContainerView, ImageView};
use crate::base::bytes::{Extent, FieldPlace, Resource, View, record_memory, text_work};
use crate::base::error::{Cause, Malformed};

/// Marker between the text and the appendix.
const APPENDIX: &[u8] = b"__acpp_hcf_binary_appendix";

/// Node with the place of code.
const BINARY: &str = "__binary";

/// Maximum depth of nodes, and maximum length of a line. Names of kernels are part of lines.
const MAX_DEPTH: usize = 32;
const MAX_LINE: usize = 1 << 20;

/// A line of the text.
enum Line<'data> {
    Start(&'data str),
    End(&'data str),
    Value(&'data str, &'data str),
    Appendix,
}

/// A node that has begun.
#[derive(Debug, Default)]
struct Node<'data> {
    name: &'data str,
    form: Option<&'data str>,
    /// Offset and size of the code.
    start: Option<u64>,
    size: Option<u64>,
}

/// Code of a node.
#[derive(Debug)]
struct Code<'data> {
    name: &'data str,
    form: Option<&'data str>,
    extent: Extent,
    /// Line that ends the description.
    stated_at: FieldPlace,
}

/// What the lines up to now state.
#[derive(Debug, Default)]
struct Text<'data> {
    nodes: Vec<Node<'data>>,
    codes: Vec<Code<'data>>,
    /// Names of kernels, and the nodes that provide them.
    kernels: Vec<(&'data str, &'data str)>,
    generator: Option<&'data str>,
}

/// Reads the container at the view's start.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    if !view.starts_with(HCF_MAGIC) {
        let cause = Cause::Described("no object-id".to_owned());
        return Err(view.malformed("HCF", 0, cause));
    }
    let mut text = Text::default();
    let mut rest = view;
    loop {
        let (line, size) = line(rest)?;
        if let Line::Appendix = line {
            break;
        }
        text.add(line, rest)?;
        rest = rest.from(size);
    }
    if let Some(node) = text.nodes.last() {
        return Err(rest.malformed("HCF node", 0, Cause::Described(format!("node {} does not end", node.name))));
    }
    let appendix = rest.from(APPENDIX.len() as u64);
    let mut images = Vec::new();
    for code in &text.codes {
        appendix.charge("HCF image", Resource::Memory, size_of::<ImageView<'_>>() as u64)?;
        images.push(text.image(code, appendix)?);
    }
    super::reject_overlaps("HCF image", view, &images)?;
    let Some(end) = images.iter().map(|image| image.view.range_in(view).end).max() else {
        return Err(view.malformed("HCF", 0, Cause::Described("no device code".to_owned())));
    };
    let view = view.prefix("HCF", end)?;
    Ok(ContainerView::new(ContainerType::Hcf, None, view, images))
}

/// Returns the line at the start of a view, and its size. Empty lines are part of the next.
fn line(view: View<'_>) -> Result<(Line<'_>, u64), Malformed> {
    let bytes = view.data();
    if bytes.starts_with(APPENDIX) {
        return Ok((Line::Appendix, 0));
    }
    let limited = bytes.get(..MAX_LINE).unwrap_or(bytes);
    let Some(length) = limited.iter().position(|&byte| byte == b'\n' || byte == 0) else {
        return Err(view.malformed("HCF line", 0, Cause::EndsInside));
    };
    view.charge("HCF line", Resource::Work, text_work(length).saturating_add(1))?;
    let line = view.string("HCF line", Extent { offset: 0, size: length as u64 })?.trim();
    let size = (length as u64).saturating_add(1);
    let parsed = match (line.strip_prefix("{."), line.strip_prefix("}."), line.split_once('=')) {
        (Some(name), ..) => Line::Start(name),
        (_, Some(name), _) => Line::End(name),
        (.., Some((key, value))) => Line::Value(key.trim_end(), value.trim_start()),
        _ => return Err(view.malformed("HCF line", 0, Cause::Described("neither a value nor a node".to_owned()))),
    };
    Ok((parsed, size))
}

impl<'data> Text<'data> {
    fn add(&mut self, line: Line<'data>, at: View<'data>) -> Result<(), Malformed> {
        match line {
            Line::Start(name) => {
                if self.nodes.len() >= MAX_DEPTH {
                    return Err(at.malformed("HCF node", 0, Cause::NestedTooDeep { limit: MAX_DEPTH }));
                }
                self.nodes.push(Node { name, ..Node::default() });
                if let [first, kernel, list, provider] = self.nodes.as_slice()
                    && (first.name, list.name) == ("kernels", "image-providers")
                {
                    at.charge("HCF kernel", Resource::Memory, record_memory(size_of::<(&str, &str)>(), []))?;
                    self.kernels.push((kernel.name, provider.name));
                }
            }
            Line::End(name) => return self.end(name, at),
            Line::Value(key, value) => self.value(key, value, at)?,
            Line::Appendix => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str, at: View<'data>) -> Result<(), Malformed> {
        let ended = self.nodes.pop().filter(|node| node.name == name).ok_or_else(|| {
            at.malformed("HCF node", 0, Cause::Described("ends another node than the last".to_owned()))
        })?;
        if ended.name != BINARY {
            return Ok(());
        }
        let (Some(owner), Some(offset), Some(size)) = (self.nodes.last(), ended.start, ended.size) else {
            return Err(at.malformed("HCF node", 0, Cause::Described("no place of code".to_owned())));
        };
        at.charge("HCF image", Resource::Memory, record_memory(size_of::<Code<'_>>(), []))?;
        let extent = Extent { offset, size };
        self.codes.push(Code { name: owner.name, form: owner.form, extent, stated_at: at.field("HCF image", 0) });
        Ok(())
    }

    fn value(&mut self, key: &'data str, value: &'data str, at: View<'data>) -> Result<(), Malformed> {
        let number = || {
            let number: Option<u64> = value.parse().ok();
            number.ok_or_else(|| at.malformed("HCF number", 0, Cause::Described("not a number".to_owned())))
        };
        let Some(node) = self.nodes.last_mut() else {
            if key == "generator" {
                self.generator = Some(value);
            }
            return Ok(());
        };
        match (node.name, key) {
            (BINARY, "start") => node.start = Some(number()?),
            (BINARY, "size") => node.size = Some(number()?),
            (_, "format") => node.form = Some(value),
            _ => {}
        }
        Ok(())
    }

    fn image(&self, code: &Code<'data>, appendix: View<'data>) -> Result<ImageView<'data>, Malformed> {
        let bytes = appendix.part(code.stated_at, code.extent)?;
        let mut image = ImageView::new(bytes, None, None, None);
        // Bitcode has the host's triple. The program compiles it for its devices.
        if !is_device_code(image.image_kind, image.triple.as_deref()) {
            image.triple = None;
        }
        let names = [Some(("node", code.name)), code.form.map(|form| ("form", form))];
        let generator = self.generator.map(|generator| ("generator", generator));
        image.strings.extend(names.into_iter().chain([generator]).flatten());
        let comparison = text_work(code.name.len()).saturating_add(1);
        appendix.charge("HCF kernel", Resource::Work, comparison.saturating_mul(self.kernels.len() as u64))?;
        for (kernel, _) in self.kernels.iter().filter(|(_, provider)| *provider == code.name) {
            appendix.charge("HCF kernel", Resource::Memory, record_memory(size_of::<(&str, &str)>(), []))?;
            image.strings.push(("kernel", kernel));
        }
        Ok(image)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::format::ImageKind;

    /// Writes a container as the sources describe it. Each image provides one kernel.
    pub fn file(images: &[(&str, &[u8])]) -> Vec<u8> {
        let mut text = "object-id=1234\ngenerator=hipSYCL SSCP\n{.images\n".to_owned();
        let mut appendix = Vec::new();
        for (name, code) in images {
            let start = appendix.len();
            let size = code.len();
            text +=
                &format!("{{.{name}\nvariant=global-module\nformat=llvm-ir\n{{.__binary\nstart={start}\nsize={size}\n");
            text += &format!("}}.__binary\n}}.{name}\n");
            appendix.extend_from_slice(code);
        }
        text += "}.images\n{.kernels\n";
        for (name, _) in images {
            text += &format!("{{.kernel of {name}\n{{.image-providers\n{{.{name}\n}}.{name}\n}}.image-providers\n");
            text += &format!("}}.kernel of {name}\n");
        }
        [(text + "}.kernels\n").as_bytes(), APPENDIX, &appendix].concat()
    }

    const IMAGES: [(&str, &[u8]); 2] = [("llvm-ir.global", b"BC\xc0\xdecode"), ("other", b"more code")];

    #[test]
    fn reads_images_with_their_kernels() {
        let bytes = file(&IMAGES);
        let followed = [&bytes[..], b"what follows"].concat();
        let container = container(View::new(&followed)).unwrap();
        assert_eq!(container.view.size(), bytes.len() as u64);
        for (image, (name, code)) in container.images().iter().zip(IMAGES) {
            let kernel = format!("kernel of {name}");
            let strings =
                [("node", name), ("form", "llvm-ir"), ("generator", "hipSYCL SSCP"), ("kernel", kernel.as_str())];
            assert_eq!((image.view.data(), image.strings.as_slice()), (code, &strings[..]));
        }
        assert_eq!(container.images()[0].image_kind, ImageKind::Bitcode);
        // The example of the documentation, with the key that the runtime requires, and with blanks.
        let text = "object-id = 1\nb = asd64\n\t{.MySubnode\n  keyname = Hello\n  {.__binary\n    start = 0\n    size = 3\n  \
                    }.__binary\n  key2 = World\n}.MySubnode\n__acpp_hcf_binary_appendixABC";
        let text = text.replacen("object-id = ", "object-id=", 1);
        assert_eq!(super::container(View::new(text.as_bytes())).unwrap().images()[0].view.data(), b"ABC");
    }

    #[test]
    fn every_truncated_file_is_an_error() {
        let bytes = file(&IMAGES);
        for end in 0..bytes.len() {
            container(View::new(&bytes[..end])).unwrap_err();
        }
    }

    #[test]
    fn other_text_and_hostile_fields_are_errors() {
        let text = String::from_utf8(file(&[("one", b"code"), ("two", b"code")])).unwrap();
        let deep = "{.n\n".repeat(MAX_DEPTH);
        let cases = [
            ("object-id", "object", "HCF"),
            ("size=4", "size=400", "HCF image"),
            ("size=4", "size=18446744073709551615", "HCF image"),
            ("size=4", "size=x", "HCF number"),
            ("start=4", "start=3", "HCF image"),
            ("start=0\n", "", "HCF node"),
            ("}.images\n", "", "HCF node"),
            ("}.images\n", "}.images\n}.images\n", "HCF node"),
            ("{.kernels\n", "no value\n", "HCF line"),
            ("{.kernels\n", "\0", "HCF line"),
            ("{.images\n", &deep, "HCF node"),
            ("{.__binary", "{.__other", "HCF node"),
        ];
        for (from, to, field) in cases {
            let hostile = text.replacen(from, to, 1);
            assert_eq!(container(View::new(hostile.as_bytes())).unwrap_err().field, field, "{from:?} to {to:?}");
        }
        for text in ["object-id=1\n", "object-id=1\n__acpp_hcf_binary_appendix", "object-id=1, and other text"] {
            container(View::new(text.as_bytes())).unwrap_err();
        }
    }
}
