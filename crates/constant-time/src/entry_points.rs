//! Every public method of `pfss` that touches a secret, with the check that runs it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The start of a check's title, and the methods that it runs on secrets.
const CHECKED: &[(&str, &[&str])] = &[
    ("deal and serialise", &["Dealer::insecure_from_seeds", "Dealer::deal", "KeyBundle::to_bytes"]),
    ("deal and serialise for given masks", &["Dealer::insecure_deal_for_masks"]),
    ("deal and serialise matrices", &["Dealer::deal_matrix", "MatrixTriple::to_bytes"]),
    (
        "deal and serialise weights",
        &[
            "Dealer::deal_weights",
            "Dealer::deal_weight_triple",
            "WeightKey::to_bytes",
            "WeightMask::to_bytes",
            "WeightTriple::to_bytes",
        ],
    ),
    ("session: relu", &["Session::run"]),
    ("session: gates by methods of their own", &["Session::relu", "Session::shift"]),
    (
        "session: gates on shares in device memory",
        &[
            "Session::run_on_device",
            "Session::product_on_device",
            "DeviceShares::upload",
            "DeviceShares::download",
            "DeviceShares::add",
            "DeviceShares::sub",
            "DeviceShares::add_public",
            "DeviceShares::scale",
        ],
    ),
    (
        "session: shares rearranged in device memory",
        &[
            "DeviceShares::zeros",
            "DeviceShares::in_ring",
            "DeviceShares::slice",
            "DeviceShares::concat",
            "DeviceShares::add_rows",
            "DeviceShares::add_public_rows",
            "DeviceShares::add_public_rows_in_place",
            "DeviceShares::linear_in",
            "DeviceShares::linear_in_place",
            "DeviceShares::permuted",
            "DeviceShares::repeated",
            "DeviceShares::row_sums",
            "DeviceShares::gathered",
        ],
    ),
    ("session: full predicates", &["BitShares::reveal"]),
    ("session: interval powers", &["Session::interval_powers"]),
    ("session: maximum", &["Session::max"]),
    ("session: product", &["Session::product", "KeyBundle::mask_factors"]),
    ("session: product of matrices", &["Session::matmul", "Session::reveal", "MatrixShape::multiply"]),
    (
        "session: products of matrices in device memory",
        &["Session::matmul_on_device", "Session::matmul_by_host_on_device", "Session::matmul_weights_on_device"],
    ),
    (
        "session: products by opened weights",
        &["Session::open_weights", "Session::matmul_weights", "OpenedWeights::to_bytes"],
    ),
    (
        "session: gelu",
        &[
            "Session::function",
            "Session::function_on_device",
            "Session::function_on_device_from",
            "Dealer::deal_function",
        ],
    ),
    (
        "session: function by table",
        &[
            "Session::table_function",
            "Session::table_function_from",
            "Session::table_function_on_device_from",
            "Dealer::deal_table_function",
        ],
    ),
    (
        "session: softmax",
        &[
            "Session::softmax",
            "Session::softmax_from",
            "Session::softmax_on_device_from",
            "Session::function_from",
            "Dealer::deal_all",
            "RowLayout::gather",
            "RowLayout::scatter",
        ],
    ),
    ("lockstep: relu", &["lockstep::run_lockstep_watched", "Pending::finish_with"]),
    ("step by step: relu", &["KeyBundle::mask", "MaskedKeys::eval", "Pending::finish"]),
    (
        "step by step: relu in device memory",
        &[
            "KeyBundle::mask_on_device",
            "MaskedKeys::eval_on_device",
            "PendingOnDevice::finish",
            "DeviceShares::written_by",
            "DeviceShares::read_by",
        ],
    ),
    (
        "session: a circuit",
        &["Dealer::deal_wired", "KeyBundle::with_open_inputs", "Session::open_outputs", "Session::eval"],
    ),
    (
        "super-batch: every gate",
        &[
            "Session::open_masked",
            "Session::finalize",
            "SuperBatch::try_enqueue",
            "SuperBatch::flush",
            "SuperBatch::shares",
            "SuperBatch::row",
            "SuperBatch::take",
            "Job::new",
            "Job::with_rows",
        ],
    ),
    ("super-batch: in lockstep", &["exchange::finalize_lockstep", "SuperBatch::round", "SuperBatch::absorb"]),
    (
        "executor: gates one after the other",
        &[
            "PhaseExecutor::run",
            "Port::open_input",
            "Port::open_factors",
            "Port::opened",
            "GateChain::on",
            "GateChain::then",
            "GateChain::into_words",
        ],
    ),
    (
        "executor: what a barrier drains",
        &["PhaseExecutor::barrier", "PhaseExecutor::finalize_layer", "Port::submit", "Port::shares"],
    ),
];

/// The start of a check's title, and the task that it runs on secrets.
const TASKS: &[(&str, &str)] = &[
    ("session: relu", "Relu"),
    ("session: relu of a proven range", "ReluWithin"),
    ("session: absolute value", "Abs"),
    ("session: truncate-reduce", "TruncateReduce"),
    ("session: gap ars", "GapArs"),
    ("session: lrs", "Lrs"),
    ("session: ars", "Ars"),
    ("session: relu ars", "ReluArs"),
    ("session: lut", "Lut"),
    ("session: full predicates", "Predicates"),
    ("session: full predicates", "PredicateBits"),
    ("session: interval powers", "IntervalPowers"),
    ("session: product", "Product"),
    ("session: suf", "Suf"),
];

/// What no check runs, and why.
const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "whether keys read from bytes are refused is public",
        &[
            "KeyBundle::from_bytes",
            "KeyBundle::read_pieces",
            "MatrixTriple::from_bytes",
            "WeightKey::from_bytes",
            "WeightMask::from_bytes",
            "WeightTriple::from_bytes",
            "OpenedWeights::from_bytes",
        ],
    ),
    (
        "calls what is checked, and nothing else",
        &[
            "Dealer::from_os",
            "Dealer::insecure_from_seed",
            "lockstep::run_lockstep",
            "lockstep::eval_lockstep",
            "run::run_function_lockstep",
            "run::run_table_lockstep",
            "Dealer::deal_wired_function",
            "Session::wired_function",
            "Session::run_in",
            "Session::eval_in",
            "Session::eval_on_device",
            "Session::shift_on_device",
            "Session::matmul_in",
            "SuperBatch::enqueue",
        ],
    ),
    (
        "copies, or hashes by BLAKE3, which takes no branch and no index from its input",
        &["Wire::from_masks", "DealerSeed::from_os", "DealerSeed::from_bytes", "DealerSeed::dealer"],
    ),
    (
        "public facts, or a reference to what the caller has",
        &[
            "KeyBundle::gate",
            "KeyBundle::party",
            "KeyBundle::count",
            "KeyBundle::nonce",
            "KeyBundle::sections",
            "KeyBundle::byte_len",
            "KeyBundle::memory_bytes",
            "KeyBundle::takes_open_inputs",
            "KeyBundle::insecure_reusable",
            "MaskedKeys::gate",
            "MaskedKeys::party",
            "MaskedKeys::count",
            "MaskedKeys::nonce",
            "Wire::ring",
            "Wire::count",
            "Wire::masks",
            "Job::in_ring",
            "Job::into_keys",
            "BitShares::party",
            "BitShares::count",
            "BitShares::words",
            "Pending::masked_bits",
            "Pending::masked_words",
            "Pending::word_ring",
            "PendingOnDevice::masked_bits",
            "PendingOnDevice::masked_words",
            "Pending::count",
            "MatrixTriple::party",
            "MatrixTriple::ring",
            "MatrixTriple::shape",
            "MatrixTriple::nonce",
            "MatrixShape::lens",
            "MatrixShape::traffic",
            "MatrixShape::key_bytes",
            "WeightKey::party",
            "WeightKey::ring",
            "WeightKey::shape",
            "WeightKey::nonce",
            "WeightMask::ring",
            "WeightMask::shape",
            "WeightMask::nonce",
            "WeightTriple::party",
            "WeightTriple::ring",
            "WeightTriple::rows",
            "WeightTriple::weights",
            "WeightTriple::nonce",
            "WeightTriple::key_nonce",
            "OpenedWeights::party",
            "OpenedWeights::ring",
            "OpenedWeights::shape",
            "OpenedWeights::nonce",
            "OpenedWeights::digest",
            "Session::new",
            "Session::party",
            "Session::traffic",
            "DeviceShares::queue",
            "DeviceShares::party",
            "DeviceShares::ring",
            "DeviceShares::len",
            "DeviceShares::is_empty",
            "RowLayout::ragged",
            "RowLayout::causal",
            "RowLayout::rows",
            "RowLayout::cols",
            "RowLayout::active",
            "RowLayout::ranges",
            "SuperBatch::new",
            "SuperBatch::shared",
            "SuperBatch::marked",
            "SuperBatch::timed",
            "SuperBatch::digest",
            "SuperBatch::state",
            "SuperBatch::counters",
            "SuperBatch::budget",
            "SuperBatch::clear",
            "PhaseExecutor::new",
            "PhaseExecutor::batch",
            "PhaseExecutor::totals",
        ],
    ),
];

/// Types that hold secrets or compute with them; free functions count by their file.
const OWNERS: &[&str] = &[
    "Dealer",
    "DealerSeed",
    "KeyBundle",
    "MaskedKeys",
    "Wire",
    "BitShares",
    "DeviceShares",
    "Pending",
    "PendingOnDevice",
    "MatrixTriple",
    "MatrixShape",
    "WeightKey",
    "WeightMask",
    "WeightTriple",
    "OpenedWeights",
    "Session",
    "RowLayout",
    "SuperBatch",
    "Job",
    "Port",
    "PhaseExecutor",
    "GateChain",
    "lockstep",
    "exchange",
    "run",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The name of the type of an `impl` block, from its first line.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let mut depth = 0;
    let end = rest.find(|c: char| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        c == ' ' && depth == 0
    })?;
    let subject = rest[end..].trim_start();
    subject.split(|c: char| !c.is_alphanumeric()).next()
}

/// `Type::method` of every public method, and `file::function` of every free public function.
fn public_functions() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../pfss/src"), &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let mut owner = stem.clone();
        for line in text.lines() {
            if let Some(name) = implemented(line) {
                owner = name.to_owned();
            } else if line == "}" {
                owner.clone_from(&stem);
            }
            let item = line.trim_start().strip_prefix("pub ").map(|item| item.trim_start_matches("const "));
            if let Some(name) = item.and_then(|item| item.strip_prefix("fn ")) {
                let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                found.insert(format!("{owner}::{name}"));
            }
        }
    }
    found
}

#[test]
fn every_public_function_on_secrets_is_checked_or_left_out_for_a_reason() {
    let listed: Vec<&str> = CHECKED.iter().chain(LEFT_OUT).flat_map(|(_, names)| names.iter().copied()).collect();
    let once: BTreeSet<String> = listed.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(once.len(), listed.len(), "a name is listed twice");
    let on_secrets = |name: &String| name.split_once("::").is_some_and(|(owner, _)| OWNERS.contains(&owner));
    let all: BTreeSet<String> = public_functions().into_iter().filter(on_secrets).collect();
    assert_eq!(once.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "listed, but not there");
    assert_eq!(all.difference(&once).collect::<Vec<_>>(), Vec::<&String>::new(), "there, but not listed");
}

#[test]
fn every_task_is_checked() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../pfss/src/task.rs")).unwrap();
    let variants = text.lines().skip_while(|line| !line.starts_with("pub enum Task")).skip(1);
    let variants = variants.take_while(|line| *line != "}").map(str::trim_start);
    let variants = variants.filter(|line| line.starts_with(char::is_uppercase));
    let names: Vec<&str> = variants.filter_map(|line| line.split(['(', ',']).next()).collect();
    assert_eq!(TASKS.iter().map(|(_, name)| *name).collect::<Vec<_>>(), names);
}

#[test]
fn every_listed_check_exists() {
    let titles: Vec<String> = crate::checks().unwrap().into_iter().map(|check| check.title).collect();
    for title in CHECKED.iter().map(|(title, _)| title).chain(TASKS.iter().map(|(title, _)| title)) {
        assert!(titles.iter().any(|known| known.starts_with(title)), "no check `{title}`");
    }
}
