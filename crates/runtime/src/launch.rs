//! The rank of this process, from the environment variables of an MPI launcher.

use crate::SettingsError;

/// The place of a process in the group that an MPI launcher started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The number of the process, below `ranks`.
    pub rank: usize,
    /// How many processes there are.
    pub ranks: usize,
    /// Its number among the processes on its machine, if the launcher sets it.
    pub local_rank: Option<u32>,
}

/// The variables of a launcher.
struct Launcher {
    ranks: &'static str,
    rank: &'static str,
    local_rank: &'static str,
    /// Set in its processes alone, where the others may be set for other reasons.
    mark: Option<&'static str>,
}

/// The supported launchers of ranks.
///
/// `mpirun` of Open MPI; `mpirun` of MPICH and Intel; `mpiexec` of PALS; Slurm's `srun --mpi=pmix`
/// and `--mpi=pmi2`.
const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        ranks: "OMPI_COMM_WORLD_SIZE",
        rank: "OMPI_COMM_WORLD_RANK",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        mark: None,
    },
    Launcher { ranks: "PMI_SIZE", rank: "PMI_RANK", local_rank: "MPI_LOCALRANKID", mark: Some("MPI_LOCALRANKID") },
    Launcher { ranks: "PMI_SIZE", rank: "PMI_RANK", local_rank: "PMI_LOCAL_RANK", mark: Some("PMI_LOCAL_RANK") },
    Launcher {
        ranks: "SLURM_STEP_NUM_TASKS",
        rank: "SLURM_PROCID",
        local_rank: "SLURM_LOCALID",
        mark: Some("PMIX_RANK"),
    },
    Launcher { ranks: "PMI_SIZE", rank: "PMI_RANK", local_rank: "SLURM_LOCALID", mark: None },
];

/// Reads this process's place from the variables of an MPI launcher; `None` without one.
///
/// # Errors
/// [`SettingsError`] for the first variable whose value no launcher sets.
pub fn launch() -> Result<Option<Launch>, SettingsError> {
    read(|variable| match std::env::var(variable) {
        Ok(value) => Ok(Some(value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(SettingsError::NotUnicode { variable }),
    })
}

/// [`launch`] with the values that `var` gives.
fn read(var: impl Fn(&'static str) -> Result<Option<String>, SettingsError>) -> Result<Option<Launch>, SettingsError> {
    for launcher in &LAUNCHERS {
        let Some(ranks) = var(launcher.ranks)? else { continue };
        if let Some(mark) = launcher.mark
            && var(mark)?.is_none()
        {
            continue;
        }
        let refused = |variable, value, expected| SettingsError::Value { variable, value, expected };
        let ranks = match ranks.parse() {
            Ok(ranks) if ranks > 0 => ranks,
            _ => return Err(refused(launcher.ranks, ranks, "the number of processes, from an MPI launcher")),
        };
        let own = var(launcher.rank)?.unwrap_or_default();
        let rank = match own.parse() {
            Ok(rank) if rank < ranks => rank,
            _ => return Err(refused(launcher.rank, own, "a rank below the number of processes, from an MPI launcher")),
        };
        let local_rank = var(launcher.local_rank)?.map(|value| {
            let refused = |_| refused(launcher.local_rank, value.clone(), "the local rank of a process on its machine");
            value.parse().map_err(refused)
        });
        return Ok(Some(Launch { rank, ranks, local_rank: local_rank.transpose()? }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Option<Launch>, SettingsError> {
        read(|name| Ok(variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())))
    }

    #[test]
    fn every_launcher_is_understood() {
        let open_mpi =
            [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_LOCAL_RANK", "1")];
        let hydra = [("PMI_SIZE", "4"), ("PMI_RANK", "3"), ("MPI_LOCALRANKID", "1")];
        let slurm = [("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_PROCID", "3"), ("SLURM_LOCALID", "1")];
        let slurm_pmix = [&slurm[..], &[("PMIX_RANK", "3")]].concat();
        let slurm_pmi2 = [&slurm[..], &[("PMI_SIZE", "4"), ("PMI_RANK", "3")]].concat();
        let pals = [("PMI_SIZE", "4"), ("PMI_RANK", "3"), ("PMI_LOCAL_RANK", "1")];
        for variables in [&open_mpi[..], &hydra, &pals, &slurm_pmix, &slurm_pmi2] {
            let expected = Launch { rank: 3, ranks: 4, local_rank: Some(1) };
            assert_eq!(with(variables), Ok(Some(expected)), "{variables:?}");
        }
        let expected = Launch { rank: 0, ranks: 2, local_rank: None };
        assert_eq!(with(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]), Ok(Some(expected)));
    }

    #[test]
    fn a_task_of_a_job_array_is_no_process_of_mpi() {
        assert_eq!(with(&[]), Ok(None));
        let task = [("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_PROCID", "3"), ("SLURM_LOCALID", "1")];
        assert_eq!(with(&task), Ok(None));
    }

    #[test]
    fn what_no_launcher_says_is_refused_by_name() {
        let ranks = "OMPI_COMM_WORLD_SIZE";
        let cases = [
            (vec![(ranks, "0")], ranks),
            (vec![(ranks, "many")], ranks),
            (vec![(ranks, "2")], "OMPI_COMM_WORLD_RANK"),
            (vec![(ranks, "2"), ("OMPI_COMM_WORLD_RANK", "2")], "OMPI_COMM_WORLD_RANK"),
            (
                vec![(ranks, "2"), ("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_LOCAL_RANK", "-1")],
                "OMPI_COMM_WORLD_LOCAL_RANK",
            ),
        ];
        for (variables, named) in cases {
            let said = with(&variables).unwrap_err().to_string();
            assert!(said.starts_with(named), "{said}");
        }
    }
}
