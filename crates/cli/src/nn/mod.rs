//! `trefoil nn`: networks that are trained, asked, and rolled out, and models of text.

mod array;
mod data;
mod held_out;
mod history;
mod model;
mod predict;
mod profile;
mod rollout;
mod sample;
mod saved;
mod text;
mod train;

use anyhow::Result;
use clap::{Args, Subcommand};

pub(crate) use self::{
    data::DatasetRows,
    model::accuracy,
    train::{shuffled, train_on},
};
use crate::files::NamedFile;

/// Networks on the handwritten digits that ship, on arrays of your own, and on text.
///
/// `train` fits a perceptron to labelled rows and writes it as safetensors. `predict` classifies
/// rows. `rollout` forecasts a training loss. `profile` measures a network, op by op. `text train`
/// fits a transformer to text files, and `sample` continues a text with it.
#[derive(Args, Debug)]
pub(crate) struct NnArgs {
    #[command(subcommand)]
    pub(crate) command: NnCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NnCommand {
    Train(train::TrainArgs),
    Predict(predict::PredictArgs),
    Rollout(rollout::RolloutArgs),
    Profile(profile::ProfileArgs),
    Text(text::TextArgs),
    Sample(sample::SampleArgs),
}

impl NnCommand {
    /// The files that it names.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        match self {
            Self::Train(args) => args.files(),
            Self::Predict(args) => args.files(),
            Self::Rollout(args) => args.files(),
            Self::Profile(args) => args.files(),
            Self::Text(args) => args.files(),
            Self::Sample(args) => args.files(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(command: &NnCommand) -> Result<()> {
    match command {
        NnCommand::Train(args) => train::run(args),
        NnCommand::Predict(args) => predict::run(args),
        NnCommand::Rollout(args) => rollout::run(args),
        NnCommand::Profile(args) => profile::run(args),
        NnCommand::Text(args) => text::run(args),
        NnCommand::Sample(args) => sample::run(args),
    }
}
