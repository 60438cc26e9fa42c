//! Which jobs are walked together.

use super::job::Job;

/// The digest of a gate, and what else its evaluation is told.
type Program = ([u8; 32], Vec<u64>);

/// Positions of jobs, grouped by program.
///
/// Groups are in the order of their first jobs, and jobs in their order within a group.
///
/// Jobs of a group share gate, ring and public parameters, so that the device runs the same kernels
/// on parts of the same shape, one after the other. The result of a job does not depend on its
/// group.
pub(super) fn groups<'j, 'a: 'j>(jobs: impl Iterator<Item = &'j Job<'a>>) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Program, Vec<usize>)> = Vec::new();
    for (at, job) in jobs.enumerate() {
        let program = (job.keys.gate().digest(), job.work.task().facts());
        match groups.iter_mut().find(|(known, _)| *known == program) {
            Some((_, members)) => members.push(at),
            None => groups.push((program, vec![at])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}
