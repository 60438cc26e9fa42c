//! `trefoil stark prove --devices`: the file is that of one device, and what cannot be shared is told.

use std::fs;

use super::{text, trefoil};

const PLONK: [&str; 9] = ["stark", "prove", "--air", "plonk", "--log-rows=6", "--pow-bits", "4", "--queries", "12"];

#[test]
fn files_of_several_devices_are_those_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let prove = |name: &str, more: &[&str]| {
        let mut line = trefoil();
        line.current_dir(folder.path()).env("TREFOIL_SIM", "devices=4").env("TREFOIL_THREADS", "2");
        let said = line.args(PLONK).args(["--out", name]).args(more).assert().success().get_output().stdout.clone();
        (fs::read(folder.path().join(name)).unwrap(), text(&said))
    };
    let (expected, said) = prove("one", &[]);
    assert!(!said.contains("each sent each other"), "{said}");
    for (devices, backend) in [("2", "cpu"), ("4", "cpu"), ("8", "cpu"), ("2", "sim"), ("4", "sim")] {
        let (made, said) = prove("several", &["--devices", devices, "--backend", backend]);
        assert!(made == expected, "{devices} on {backend}");
        assert!(said.contains(&format!("{devices}, each sent each other")), "{said}");
    }
    trefoil().current_dir(folder.path()).args(["stark", "verify", "several"]).assert().success();
}

#[test]
fn what_cannot_be_shared_is_told_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |code: i32, more: &[&str]| {
        let mut line = trefoil();
        line.current_dir(folder.path()).env("TREFOIL_SIM", "devices=2").args(PLONK).args(["--out", "a"]).args(more);
        let said = text(&line.assert().code(code).get_output().stderr);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{more:?}");
        said
    };
    let said = refused(2, &["--devices", "3"]);
    assert!(said.contains("`--devices`: expected a power of two of ranks, 64 at most, got 3"), "{said}");
    let said = refused(2, &["--devices", "2", "--blocks", "4"]);
    assert!(said.contains("--blocks"), "{said}");
    let said = refused(3, &["--devices", "4", "--backend", "sim"]);
    assert!(said.contains("device 2"), "{said}");
    let small = ["stark", "plan", "--air", "wide-fibonacci", "--log-rows", "5", "--devices", "64"];
    let said = text(&trefoil().args(small).assert().code(2).get_output().stderr);
    assert!(said.contains("`--devices`: expected a power of two of ranks, 32 at most, got 64"), "{said}");
    let plan = |devices: &str| {
        let line = ["stark", "plan", "--air", "wide-fibonacci", "--log-rows", "20", "--devices", devices];
        let said = text(&trefoil().args(line).assert().success().get_output().stdout);
        let whole = said.lines().find(|line| line.ends_with("whole proof")).unwrap().to_owned();
        whole.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    let [one, two, eight] = ["1", "2", "8"].map(plan);
    assert!(one > two && two > eight, "{one} {two} {eight} MB");
}
