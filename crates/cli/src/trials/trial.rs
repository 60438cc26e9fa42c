//! One trial: a kernel or module of `device-trials`, and how it is compared with the host.

use anyhow::Result;
use backend_api::{BackendError, Buffer as _, Queue as _};
use cuda_backend::{CudaQueue, ModuleError, launch_canary, launch_programs};
use device_trials::{Arrangement, CANARIES, Canary, FAMILIES, Family, GUARDED, PROGRAMS};
use runtime::Choice;

use crate::conformance::CaseVerdict;

/// Inputs of each program on a GPU, and on the simulated device: multiples of a warp.
const INPUTS: usize = 8192;
const SIMULATED_INPUTS: usize = 96;

/// One trial of a kernel or a module, whose outcome is checked on the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// Name of the kernel, or of the module.
    pub(super) kernel: &'static str,
    task: TrialTask,
}

#[derive(Clone, Copy, Debug)]
enum TrialTask {
    /// To compile the module of this name.
    Compile,
    /// To run every program of a family on this number of inputs.
    Programs(Family, Arrangement, usize),
    /// To run a canary on this number of words.
    Canary(Canary, u32),
}

/// How a trial ended that failed with this error.
pub(super) fn verdict(error: &anyhow::Error) -> CaseVerdict {
    let reason = match error.downcast_ref() {
        Some(ModuleError::Load { reason, .. }) => Some(reason),
        _ => error.downcast_ref(),
    };
    if matches!(reason, Some(BackendError::DeviceLost { .. })) { CaseVerdict::Lost } else { CaseVerdict::Failed }
}

/// The trials of the kernels whose names contain `filter`. Their modules are compiled first.
pub(super) fn chosen(filter: &str, choice: Choice) -> Vec<Trial> {
    let inputs = if choice == Choice::Sim { SIMULATED_INPUTS } else { INPUTS };
    let programs = FAMILIES.into_iter().flat_map(|family| {
        let task = move |arrangement| TrialTask::Programs(family, arrangement, inputs);
        Arrangement::ALL.map(|arrangement| Trial { kernel: family.kernel, task: task(arrangement) })
    });
    let canaries = CANARIES.into_iter().flat_map(|canary| {
        canary.lengths.map(|words| Trial { kernel: canary.kernel, task: TrialTask::Canary(canary, words) })
    });
    let after_compiling = |module, trials: &mut dyn Iterator<Item = Trial>| -> Vec<Trial> {
        let mut chosen: Vec<_> = trials.filter(|trial| trial.kernel.contains(filter)).collect();
        if !chosen.is_empty() {
            chosen.insert(0, Trial { kernel: module, task: TrialTask::Compile });
        }
        chosen
    };
    [after_compiling(PROGRAMS.name, &mut { programs }), after_compiling(GUARDED.name, &mut { canaries })].concat()
}

impl Trial {
    /// The trial in words.
    pub(super) fn case(&self) -> String {
        match self.task {
            TrialTask::Compile => "compiled by the driver".to_owned(),
            TrialTask::Programs(_, arrangement, inputs) => format!("{inputs} inputs, {}", arrangement.name()),
            TrialTask::Canary(_, words) => format!("{words} words"),
        }
    }

    /// Runs it and compares its results with the host's.
    pub(super) fn run(&self, queue: &CudaQueue) -> Result<()> {
        match self.task {
            TrialTask::Compile => {
                for module in queue.compile(self.kernel)? {
                    module.outcome?;
                }
                Ok(())
            }
            TrialTask::Programs(family, arrangement, inputs) => run_programs(queue, &family, arrangement, inputs),
            TrialTask::Canary(canary, words) => run_canary(queue, &canary, words),
        }
    }
}

fn run_programs(queue: &CudaQueue, family: &Family, arrangement: Arrangement, inputs: usize) -> Result<()> {
    let work = family.work(arrangement, inputs);
    let programs: Vec<_> = work.iter().map(|work| work.program).collect();
    let inputs: Vec<_> = work.iter().flat_map(|work| work.input).collect();
    let (programs, inputs) = (queue.upload(&programs)?, queue.upload(&inputs)?);
    let mut results = queue.zeros::<u64>(work.len())?;
    launch_programs(queue, family.kernel, programs.view(), inputs.view(), &results.view_mut())?;
    Ok(family.judge(&work, &queue.download(&results)?)?)
}

fn run_canary(queue: &CudaQueue, canary: &Canary, words: u32) -> Result<()> {
    let from = queue.upload(&Canary::input(words))?;
    let mut to = queue.zeros::<u32>(words as usize)?;
    launch_canary(queue, canary.kernel, from.view(), &to.view_mut())?;
    Ok(canary.judge(words, &queue.download(&to)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_compiled_before_their_kernels_run() {
        let kernels = |filter| -> Vec<_> { chosen(filter, Choice::Sim).iter().map(|trial| trial.kernel).collect() };
        assert_eq!(kernels("wide"), ["differential", "differential_wide", "differential_wide"]);
        assert_eq!(kernels("canary_shared"), ["canary", "canary_shared", "canary_shared"]);
        assert_eq!(kernels("").len(), 2 + 2 * (FAMILIES.len() + CANARIES.len()));
        assert!(kernels("no such kernel").is_empty());
    }

    #[test]
    fn a_lost_device_is_told_apart_from_wrong_results() {
        let wrong = device_trials::Wrong { wrong: 1, all: 2, first: "word 0".to_owned() };
        assert_eq!(verdict(&wrong.into()), CaseVerdict::Failed);
        assert_eq!(verdict(&BackendError::OutOfMemory { bytes: 1 }.into()), CaseVerdict::Failed);
        let lost = || BackendError::DeviceLost { cause: "trap".to_owned(), in_flight: Vec::new() };
        assert_eq!(verdict(&lost().into()), CaseVerdict::Lost);
        let load = ModuleError::Load { module: "m".to_owned(), reason: lost(), log: String::new() };
        assert_eq!(verdict(&load.into()), CaseVerdict::Lost);
    }
}
