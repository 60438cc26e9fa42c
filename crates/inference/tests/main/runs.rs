//! Concurrent runs of one folder, its lock, and its files after the last run.

use std::fs;

use inference::{
    InferenceError, Outcome, Parameters,
    folder::{BegunRun, RunsFolder},
    party::Role,
};
use pfss::{MemoryChannel, Party, memory_pair};

use crate::{
    common::{PATIENCE, deal_runs, digits, images, next_run, open_runs, weights},
    folders::{key_files, refused_runs},
};

/// Begins the next run of both parties' folders, client first.
///
/// Returns their channels as well.
fn begin(
    [client, server]: &mut [RunsFolder; 2],
    weights: &Parameters,
    images: &[u64],
) -> ([BegunRun; 2], [MemoryChannel; 2]) {
    let (mut to_server, mut to_client) = memory_pair(PATIENCE);
    let role = Role::Server(weights);
    let runs = test_process::scope(|scope| {
        let serving = scope.spawn(|| server.begin(&runtime::cpu().unwrap(), &mut to_client, role, |_| ()).unwrap());
        let role = Role::Client(images);
        let run = client.begin(&runtime::cpu().unwrap(), &mut to_server, role, |_| ()).unwrap();
        [run, serving.join().unwrap()]
    });
    (runs, [to_server, to_client])
}

#[test]
fn runs_of_one_folder_go_on_at_once_and_a_failed_one_is_named_and_lost_alone() {
    let model = digits(1);
    let (_scratch, paths) = deal_runs(&model, 3);
    let (weights, images) = (weights(&model), images(&model));
    let expected = inference::plain::logits(&model, &weights, &images).unwrap();
    let mut folders = open_runs(&paths);
    // All runs begin before any of them runs.
    let mut begun: Vec<_> = (0..3).map(|_| begin(&mut folders, &weights, &images)).collect();
    let numbers: Vec<_> = begun.iter().map(|(runs, _)| runs.each_ref().map(BegunRun::index)).collect();
    assert_eq!(numbers, [[1; 2], [2; 2], [3; 2]]);
    for (folder, path) in folders.iter_mut().zip(&paths) {
        assert_eq!(folder.unused(), 0);
        assert!(!RunsFolder::opened_path(path).exists());
        assert_eq!(key_files(&path.join("run-003")), [""; 0]);
    }
    let (mut channel, _peer) = memory_pair(PATIENCE);
    let role = Role::Client(&images);
    let none = folders[0].begin(&runtime::cpu().unwrap(), &mut channel, role, |_| ()).unwrap_err();
    assert!(matches!(none, InferenceError::RunsUsed { runs: 3, .. }), "{none}");

    // The client of the second run is lost.
    let ([_, server], [to_server, to_client]) = begun.remove(1);
    drop(to_server);
    let error = server.run(&runtime::cpu().unwrap(), to_client, Role::Server(&weights), |_| ()).unwrap_err();
    assert!(matches!(error, InferenceError::FailedRun { run: 2, runs: 3, .. }), "{error}");
    assert!(error.to_string().contains("run 2 of 3: ") && error.to_string().ends_with("this run is spent"), "{error}");
    assert_eq!(error.outcome(), Outcome::PeerFailed);

    // The others run, the later one first.
    for ([client, server], [to_server, to_client]) in begun.into_iter().rev() {
        let planned = client.traffic();
        let inferred = test_process::scope(|scope| {
            let role = Role::Server(&weights);
            let serving = scope.spawn(move || server.run(&runtime::cpu().unwrap(), to_client, role, |_| ()).unwrap());
            let inferred = client.run(&runtime::cpu().unwrap(), to_server, Role::Client(&images), |_| ()).unwrap();
            serving.join().unwrap();
            inferred
        });
        assert_eq!((inferred.logits, inferred.traffic), (Some(expected.clone()), planned));
    }
}

#[test]
fn a_folder_of_many_runs_is_open_once_at_a_time() {
    let model = digits(1);
    let (_scratch, paths) = deal_runs(&model, 2);
    let weights = weights(&model);
    let first = open_runs(&paths);
    for (path, party) in paths.iter().zip(Party::BOTH) {
        refused_runs(path, party, &format!("key folder {}: in use by another process", path.display()));
    }
    // A run holds the lock until it ends.
    let (mut folders, images) = (first, images(&model));
    let ([client, _server], _channels) = begin(&mut folders, &weights, &images);
    drop(folders);
    refused_runs(&paths[0], Party::Zero, "in use by another process");
    drop(client);
    assert_eq!(RunsFolder::open(&paths[0], Party::Zero, |_| ()).unwrap().unused(), 1);
}

#[test]
fn secrets_that_a_killed_process_left_after_the_last_run_are_removed() {
    let model = digits(1);
    let (_scratch, paths) = deal_runs(&model, 2);
    let _ = next_run(open_runs(&paths), &weights(&model), &images(&model)).map(Result::unwrap);
    fs::write(paths[1].join("run-002/used"), b"").unwrap();
    assert!(RunsFolder::opened_path(&paths[1]).exists());
    refused_runs(&paths[1], Party::One, "all 2 runs were used");
    assert!(!RunsFolder::opened_path(&paths[1]).exists() && RunsFolder::opened_path(&paths[0]).exists());
    let left = paths.each_ref().map(|path| key_files(&path.join("run-002")).len());
    assert!(left[0] > 0 && left[1] == 0, "{left:?}");
}
