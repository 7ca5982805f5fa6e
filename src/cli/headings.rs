//! Headings of the options in help texts. An option is under the same heading in every command that has it.

/// What the inputs are, and how they are read.
pub const INPUT: &str = "Input";

/// The images and devices that a command is about.
pub const SELECTION: &str = "Selection";

/// What is judged, and what fails.
pub const JUDGEMENT: &str = "Judgement";

/// Where results go, and their form.
pub const OUTPUT: &str = "Output";

/// Limits on resources.
pub const LIMITS: &str = "Limits";
