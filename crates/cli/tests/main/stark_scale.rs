//! `trefoil stark scale`: every number is labelled, and options without a model are rejected.

use std::fs;

use super::{fails, stdout_of, trefoil};

const WIDE: [&str; 8] = [
    "stark",
    "scale",
    "--air=wide-fibonacci",
    "--log-rows=8",
    "--columns=8",
    "--rounds=1",
    "--queries=3",
    "--pow-bits=0",
];

#[test]
fn times_on_several_devices_are_modelled_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let scale = |more: &[&str]| stdout_of(trefoil().current_dir(folder.path()).args(WIDE).args(more));
    let said = scale(&["--devices", "4,2", "--measured-log-rows", "6", "--html", "page.html"]);
    for words in [
        "modelled",
        "measured on 2^6 rows",
        "times 4",
        "NVLink (450 GB/s)",
        "PCIe 5 (55 GB/s)",
        "commit to the trace",
        "FRI",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // One device is the baseline of the others.
    let row = |said: &str, devices: &str| {
        let line = said.lines().find(|line| line.split_whitespace().next() == Some(devices));
        line.unwrap().split_whitespace().map(|word| word.parse::<f64>().unwrap()).collect::<Vec<_>>()
    };
    let [one, two, four] = ["1", "2", "4"].map(|devices| row(&said, devices));
    assert_eq!((one[2], one[3], one[5], one[7]), (0.0, 0.0, 1.0, 1.0), "{said}");
    assert!(two[2] > four[2] && four[2] > 0.0, "{said}");
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("modelled speed-up") && page.contains("<svg"), "{page}");

    let said = scale(&["--devices=2", "--link", "tin=0.001", "--faster", "100", "--latency-us", "5"]);
    assert!(said.contains("tin (0.001 GB/s)") && !said.contains("NVLink"), "{said}");
    assert!(said.contains("100 times as fast") && said.contains("5 us"), "{said}");
    // 1 MB a second: the bytes are all of the time.
    let two = row(&said, "2");
    assert!(two[4] > 900.0 * two[2] && two[5] < 1.0, "{said}");
}

#[test]
fn what_has_no_model_is_refused_before_any_work() {
    for (option, value, expected) in [
        ("--devices", "1,3", "`--devices`: expected a power of two of ranks"),
        ("--measured-log-rows", "9", "expected `--measured-log-rows` of at most `--log-rows`"),
        ("--link", "NVLink", "expected a name and a number of GB/s"),
        ("--link", "NVLink=-1", "expected a name and a number of GB/s"),
        ("--faster", "0", "expected a number above 0"),
        ("--latency-us", "-1", "expected a number of 0 or more"),
        ("--devices", "65", "1..=64"),
    ] {
        fails(trefoil().args(WIDE).arg(format!("{option}={value}")), 2, &[expected]);
    }
}
