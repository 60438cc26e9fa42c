//! `trefoil stark prove --devices`: the file equals one device's; bad splits are reported.

use std::fs;

use super::{fails, stdout_of, text, trefoil};

const PLONK: [&str; 9] = ["stark", "prove", "--air", "plonk", "--log-rows=6", "--pow-bits", "4", "--queries", "12"];

#[test]
fn files_of_several_devices_are_those_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let prove = |name: &str, more: &[&str]| {
        let mut line = trefoil();
        let machine = "devices=4;links=0-1:nvlink,0-2:pcie,0-3:pcie,1-2:pcie,1-3:pcie,2-3:dropped";
        line.current_dir(folder.path()).env("TREFOIL_SIM", machine).env("TREFOIL_THREADS", "2");
        let said = stdout_of(line.args(PLONK).args(["--out", name]).args(more));
        (fs::read(folder.path().join(name)).unwrap(), said)
    };
    let (expected, said) = prove("one", &[]);
    assert!(!said.contains("each sent each other"), "{said}");
    let wrong = "2 to 3, 3 to 2 through the host: a copy of 65536 bytes was reported complete, but byte 0 was wrong";
    for (devices, backend, links) in [
        ("2", "cpu", "through host memory"),
        ("4", "cpu", "through host memory"),
        ("8", "cpu", "through host memory"),
        ("2", "sim", "all by peer copies"),
        ("4", "sim", wrong),
    ] {
        let (made, said) = prove("several", &["--devices", devices, "--backend", backend]);
        assert!(made == expected, "{devices} on {backend}");
        assert!(said.contains(&format!("{devices}, each sent each other")), "{said}");
        let told = said.lines().find(|line| line.starts_with("links "));
        assert!(told.is_some_and(|told| told.contains(links)), "{said}");
    }
    trefoil().current_dir(folder.path()).args(["stark", "verify", "several", "--min-security=0"]).assert().success();
}

#[test]
fn a_device_that_is_lost_ends_all_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for rule in ["fail=700@cuLaunchKernel:150", "late=719@cuLaunchKernel:90"] {
        let mut line = trefoil();
        line.current_dir(folder.path()).env("TREFOIL_SIM", format!("devices=2;{rule}")).env("TREFOIL_THREADS", "2");
        line.args(PLONK).args(["--out", "a", "--html", "page", "--devices", "2", "--backend", "sim"]);
        let said = text(&line.assert().failure().get_output().stderr);
        assert!(said.contains("lost"), "{rule}: {said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{rule}");
    }
}

#[test]
fn what_cannot_be_shared_is_told_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    for (code, more, expected) in [
        (2, &["--devices", "3"][..], "`--devices`: expected a power of two of ranks, 64 at most, got 3"),
        (2, &["--devices", "2", "--blocks", "4"], "--blocks"),
        (3, &["--devices", "4", "--backend", "sim"], "device 2"),
    ] {
        let mut line = trefoil();
        line.current_dir(folder.path()).env("TREFOIL_SIM", "devices=2").args(PLONK).args(["--out", "a"]).args(more);
        fails(&mut line, code, &[expected]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{more:?}");
    }
    let small = ["stark", "plan", "--air", "wide-fibonacci", "--log-rows", "5", "--devices", "64"];
    fails(trefoil().args(small), 2, &["`--devices`: expected a power of two of ranks, 32 at most, got 64"]);
    let plan = |devices: &str| {
        let line = ["stark", "plan", "--air", "wide-fibonacci", "--log-rows", "20", "--devices", devices];
        let said = stdout_of(trefoil().args(line));
        let whole = said.lines().find(|line| line.ends_with("whole proof")).unwrap().to_owned();
        whole.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    let [one, two, eight] = ["1", "2", "8"].map(plan);
    assert!(one > two && two > eight, "{one} {two} {eight} MB");
}

#[test]
fn devices_reach_each_other_as_they_are_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let prove = |name: &str, reach: &str, more: &[&str]| {
        let mut line = trefoil();
        line.current_dir(folder.path()).env("TREFOIL_SIM", "devices=2").env("TREFOIL_THREADS", "2");
        line.env("TREFOIL_COLLECTIVE", reach).args(PLONK).args(["--out", name]).args(more);
        line.assert()
    };
    prove("one", "", &[]).success();
    let expected = fs::read(folder.path().join("one")).unwrap();
    for (reach, links) in [("nccl", "all by NCCL"), ("host", "through host memory"), ("peer", "all by peer copies")] {
        let said = prove("two", reach, &["--devices", "2", "--backend", "sim"]).success();
        let said = text(&said.get_output().stdout);
        assert!(said.lines().any(|line| line.starts_with("links ") && line.ends_with(links)), "{said}");
        assert!(fs::read(folder.path().join("two")).unwrap() == expected, "{reach}");
    }
    let refused = prove("none", "nccl", &["--devices", "2", "--backend", "cpu"]).failure();
    let said = text(&refused.get_output().stderr);
    let why = "transport `nccl` between ranks was requested: expected all 2 queues on GPUs, got 0";
    assert!(said.contains(why) && !folder.path().join("none").exists(), "{said}");
}
