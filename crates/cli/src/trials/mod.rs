//! `trefoil trials`: kernels with known results on a device.
//!
//! They test the device, its driver's compiler, and the simulator's rules.

mod samples;
mod trial;

use std::time::Instant;

use anyhow::{Result, bail};
use backend_api::Queue as _;
use cuda_backend::{CudaQueue, ModuleText};
use device_trials::{GUARDED, PROGRAMS, Text};
use runtime::{Choice, Settings};

use self::trial::{Trial, verdict};
use crate::{
    args::TrialsArgs,
    conformance::{CaseRun, CaseVerdict, ConformanceEvent, Show},
    exit::UsageError,
};

/// The one condition of trials, as events name it.
const CONDITION: &str = "plain";

/// Runs the command.
pub(crate) fn run(args: &TrialsArgs) -> Result<()> {
    let settings = Settings::from_env().map_err(runtime::OpenError::from)?;
    let choice = match args.backend.or(settings.backend) {
        Some(Choice::Sim) => Choice::Sim,
        Some(Choice::Gpu) => Choice::Gpu,
        _ => return Err(UsageError("trials need a device: `--backend gpu` or `--backend sim`".to_owned()).into()),
    };
    if let Some(folder) = &args.samples {
        return samples::run(&settings, choice, folder, &args.filter);
    }
    let trials = trial::chosen(&args.filter, choice);
    if trials.is_empty() {
        return Err(UsageError(format!("no kernel of the trials contains `{}`", args.filter)).into());
    }
    let queue = runtime::cuda_queue(&settings, choice, [PROGRAMS, GUARDED].map(module).into())?;
    let mut show = Show::new(args.events.as_deref(), true)?;
    follow(queue, choice, &trials, &mut show)?;
    match show.finish()? {
        Some(wrong) => bail!(wrong),
        None => Ok(()),
    }
}

fn module(text: Text) -> ModuleText {
    ModuleText { name: text.name.into(), ptx: text.ptx.into(), manifest: text.manifest.into() }
}

/// Runs trials in turn, as long as there is a device, and reports what happens.
fn follow(queue: CudaQueue, choice: Choice, trials: &[Trial], show: &mut Show) -> Result<()> {
    show.tell(&ConformanceEvent::Opened {
        status: choice.name().to_owned(),
        device: queue.caps().device.clone(),
        path: queue.caps().path.clone(),
        cases: trials.len(),
        conditions: 1,
        left_out: 0,
    })?;
    for (number, trial) in trials.iter().enumerate() {
        let op = trial.kernel.to_owned();
        let run = CaseRun { run: number, condition: CONDITION.to_owned(), op: op.clone(), case: trial.case() };
        show.tell(&ConformanceEvent::Begins(run.clone()))?;
        let start = Instant::now();
        let failure = trial.run(&queue).err();
        let seconds = start.elapsed().as_secs_f64();
        let verdict = failure.as_ref().map_or(CaseVerdict::Passed, verdict);
        let reason = failure.map(|failure| failure.to_string());
        show.tell(&ConformanceEvent::Ends { run, seconds, verdict, reason })?;
        let runs = trials.len() - number - 1;
        if verdict == CaseVerdict::Lost {
            if runs > 0 {
                show.tell(&ConformanceEvent::NotRun { op, runs, reason: "the device is lost".to_owned() })?;
            }
            break;
        }
    }
    drop(queue);
    for text in runtime::simulator_reports() {
        show.tell(&ConformanceEvent::Driver { text })?;
    }
    show.tell(&ConformanceEvent::Closed)
}
