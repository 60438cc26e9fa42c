//! `trefoil nn text`: a transformer over the bytes of text files.

mod corpus;
mod decoder;
mod model;
mod train;
mod training;

use anyhow::Result;
use clap::{Args, Subcommand};

pub(super) use self::{
    decoder::TextDecoder,
    model::{BYTES, TextModel},
};
use crate::files::NamedFile;

/// A transformer over the bytes of text files.
///
/// `train` fits it to files. `trefoil nn sample` continues a text with it.
#[derive(Args, Debug)]
pub(crate) struct TextArgs {
    #[command(subcommand)]
    command: TextCommand,
}

#[derive(Debug, Subcommand)]
enum TextCommand {
    Train(train::TextTrainArgs),
}

impl TextArgs {
    /// The files that the command names.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        match &self.command {
            TextCommand::Train(args) => args.files(),
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &TextArgs) -> Result<()> {
    match &args.command {
        TextCommand::Train(args) => train::run(args),
    }
}
