//! The answers of runtimes for several devices, grouped where they agree.

use super::{Choice, Choices, Runtime, choices};
use crate::inventory::File;
use crate::target::Device;

/// A file and the answers to all choices in it.
#[derive(Debug)]
pub struct AnsweredFile<'a> {
    pub file: &'a File,
    pub choices: Vec<Answered<'a>>,
}

/// A choice and its answers: one, or where a device's name leaves something open that matters, one for each of its
/// meanings.
#[derive(Debug)]
pub struct Answered<'a> {
    pub choices: Choices<'a>,
    /// Whether there is code for such devices at all.
    pub is_concerned: bool,
    pub answers: Vec<Answer<'a>>,
}

/// What a runtime does on some devices.
#[derive(Debug)]
pub struct Answer<'a> {
    pub devices: Vec<&'a Device>,
    pub choice: Choice,
    /// What its earlier releases do, where they take another image.
    pub earlier: Option<(&'static Runtime, Choice)>,
}

impl<'a> AnsweredFile<'a> {
    pub fn new(file: &'a File, devices: &'a [Device]) -> Self {
        AnsweredFile { file, choices: choices(file).into_iter().map(|it| Answered::new(it, devices)).collect() }
    }

    /// Those with code for the devices.
    pub fn concerned(&self) -> impl Iterator<Item = &Answered<'a>> {
        self.choices.iter().filter(|choices| choices.is_concerned)
    }
}

impl<'a> Answered<'a> {
    fn new(choices: Choices<'a>, devices: &'a [Device]) -> Self {
        let mut answers: Vec<Answer> = Vec::new();
        for device in devices {
            let (choice, earlier) = (choices.on(device), choices.earlier_on(device));
            match answers.iter_mut().find(|known| known.choice == choice && known.earlier == earlier) {
                Some(known) => known.devices.push(device),
                None => answers.push(Answer { devices: vec![device], choice, earlier }),
            }
        }
        let is_concerned = devices.iter().any(|device| choices.concern(device));
        Answered { choices, is_concerned, answers }
    }

    /// Whether an image is taken whatever the device is.
    pub fn has_an_image(&self) -> bool {
        self.answers.iter().all(|answer| answer.choice.chosen.is_some())
    }
}
