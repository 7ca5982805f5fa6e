//! The linker script that places large device sections after all others.

use super::inputs::Inputs;
use super::layout::Layout;
use super::line::{LinkLine, Placement};
use super::linkers::{Inserts, Linker, Rules};
use super::resolve::Resolution;
use super::script::{Script, ScriptSection};
use super::{DoctorOptions, Result, overflow};

/// A linker script that repairs a layout.
#[derive(Debug)]
pub struct SuggestedScript {
    /// Text of the script.
    pub text: String,
    /// Number of relocations that still do not reach their targets.
    pub remaining: usize,
}

/// Large device sections are placed after this section. Nothing in a program refers to what follows it.
const LAST_SECTION: &str = ".bss";

/// Returns the script that moves large read-only sections, and the number of problems that remain with it; `None` if
/// nothing can be moved.
pub fn suggest(
    layout: &Layout,
    inputs: &Inputs,
    resolution: &Resolution,
    line: &LinkLine,
    options: &DoctorOptions,
) -> Result<Option<SuggestedScript>> {
    // The script is for a linker that reads it.
    let placement = match line.placement.linker.rules().inserts {
        Inserts::Refused => Placement { linker: Linker::Bfd, ..line.placement },
        Inserts::Orphans | Inserts::All => line.placement,
    };
    let Some(script) = script(layout, placement.linker.rules()) else { return Ok(None) };
    let mut scripts = line.scripts.clone();
    scripts.push(script.clone());
    let with_script = Layout::new(&inputs.objects, resolution, placement, &scripts);
    let overflows = overflow::find(&with_script, &inputs.objects, resolution, line, options)?;
    let remaining = overflows.iter().map(|overflow| overflow.count).sum();
    Ok(Some(SuggestedScript { text: script.text(), remaining }))
}

/// Script that places the large read-only sections of a layout after its other sections. Sections that a linker with
/// these rules does not move are left out.
fn script(layout: &Layout, rules: &Rules) -> Option<Script> {
    let names = layout.large_read_only().filter(|name| rules.moves(name));
    let section = |name: &str| ScriptSection { patterns: rules.patterns(name), name: name.to_owned() };
    let sections: Vec<ScriptSection> = names.map(section).collect();
    if sections.is_empty() {
        return None;
    }
    Some(Script { sections, is_after: true, anchor: LAST_SECTION.to_owned() })
}
