//! Key folders of models that are Rust functions, which each party has by itself.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use inference::{
    Architecture, Conv2d, InferenceError, Layers, Limits, Model, ModelFile, ModelLimits, Outcome, Preference, Value,
    folder::{KeyFolder, RunsFolder, hex},
    party::{self, Role},
    plain,
    tls::PeerListener,
};
use pfss::{Channel as _, Party, memory_pair};

use crate::{
    common::{PATIENCE, consume, deal, deal_runs, digits, keys, next_run, run_on, weights},
    folders::key_files,
    functions::{IMAGES, LIMITS, images},
};

type LayerList = fn(&mut Layers<'_>, &Value) -> Result<Value, InferenceError>;

/// The model as the dealer or one of the parties makes it.
fn pictures() -> Model {
    Model::from_fn("pictures", &[1, 4, 4], LIMITS, images).unwrap()
}

/// The model on a batch.
fn on_batch(model: &Model, count: usize) -> Model {
    Model::new(model.architecture().clone(), count).unwrap()
}

/// Inputs within the limits, in fixed point.
fn inputs(model: &Model) -> Vec<u64> {
    (0..model.count() * model.input_len()).map(|at| at as u64 * 977 % 4097).collect()
}

/// Opens both parties' folders for a model that each makes.
fn open_for(paths: &[PathBuf; 2], make: fn() -> Model) -> [KeyFolder; 2] {
    Party::BOTH.map(|party| KeyFolder::open_for(&paths[party.index()], party, make().architecture(), |_| ()).unwrap())
}

/// [`open_for`] for many runs.
fn open_runs_for(paths: &[PathBuf; 2], make: fn() -> Model) -> [RunsFolder; 2] {
    Party::BOTH.map(|party| RunsFolder::open_for(&paths[party.index()], party, make().architecture(), |_| ()).unwrap())
}

#[test]
fn folders_of_a_function_run_once_with_the_results_of_keys_in_memory() {
    for (count, preference) in [(1, Preference::Rounds), (3, Preference::KeyBytes)] {
        let model = on_batch(&pictures(), count).preferring(preference);
        let (_scratch, paths) = deal(&model);
        assert!(paths.iter().all(|path| !path.join("model.json").exists()));
        let (folders, late) = (open_for(&paths, pictures), open_for(&paths, pictures));
        let [client, server] = folders.each_ref().map(|folder| folder.endpoint(Limits::default()).protocol);
        assert_eq!(client, server);
        // Each party's own function, on the batch and with the gates of the deal.
        let own = folders[1].model().clone();
        assert_eq!((own.count(), own.preference()), (count, preference));
        assert_ne!(own, model, "functions made twice are not equal");

        let (weights, inputs, plan) = (weights(&own), inputs(&own), model.plan().unwrap());
        let keys_read = consume(folders, &weights, &inputs);
        let channels = || memory_pair(PATIENCE).into();
        let [client, server] = run_on(&own, keys_read, channels(), &weights, &inputs).map(Result::unwrap);
        let [in_memory, _] = run_on(&model, keys(&model), channels(), &weights, &inputs).map(Result::unwrap);
        assert_eq!(client.logits, Some(plain::logits(&model, &weights, &inputs).unwrap()));
        assert_eq!((&client.logits, &server.logits), (&in_memory.logits, &None));
        assert_eq!([client.traffic, server.traffic], Party::BOTH.map(|party| plan.traffic(party)));

        let roles = [Role::Client(&inputs), Role::Server(&weights)];
        for (path, (role, late)) in paths.iter().zip(roles.into_iter().zip(late)) {
            let again = KeyFolder::open_for(path, role.party(), pictures().architecture(), |_| ()).unwrap_err();
            assert!(matches!(again, InferenceError::Used { .. }), "{again}");
            assert!(matches!(late.consume(role), Err(InferenceError::Used { .. })));
            assert_eq!(key_files(path), [""; 0]);
        }
    }
}

#[test]
fn manifests_identify_a_function_and_those_of_other_models_have_no_further_field() {
    let model = on_batch(&pictures(), 2);
    let (_scratch, paths) = deal(&model);
    let manifest = KeyFolder::manifest(&paths[0]).unwrap();
    assert_eq!((manifest.model.as_str(), manifest.purpose().as_str()), ("pictures", "pictures for 2 inputs"));
    assert_eq!((manifest.model_sha256, manifest.plan), (None, hex(&model.plan().unwrap().digest())));
    let facts = manifest.function.unwrap();
    assert_eq!((facts.input_shape, facts.output_shape), (vec![1, 4, 4], vec![4]));
    assert_eq!((facts.input_limits, facts.weight_limit), ([0, 1], 1));

    assert_eq!(facts.sha256.len(), 64);
    let (_many, many) = deal_runs(&model, 2);
    for part in ["weights", "run-001", "run-002"] {
        let manifest = KeyFolder::manifest(&many[1].join(part)).unwrap();
        assert_eq!(manifest.function.unwrap().sha256, facts.sha256, "{part}");
    }

    // The fields of a manifest before there were functions, in their order.
    let file = Model::new(ModelFile::read(IMAGES.as_bytes()).unwrap().into(), 1).unwrap();
    for (model, has_file) in [(digits(1), false), (file, true)] {
        let (_scratch, [path, _]) = deal(&model);
        let text = fs::read_to_string(path.join("manifest.json")).unwrap();
        let fields = text.lines().filter_map(|line| line.strip_prefix("  \"")?.split('"').next());
        let all =
            ["format", "model", "model_sha256", "count", "prefer", "party", "deal", "plan", "certificate", "peer"];
        let expected = all.into_iter().filter(|field| has_file || *field != "model_sha256").chain(["keys"]);
        assert_eq!(fields.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}

/// A small model, whose variants differ in one fact each.
fn small(layers: &mut Layers<'_>, x: &Value) -> Result<Value, InferenceError> {
    let x = layers.dense("dense", x, 4, true)?;
    layers.gelu("gelu", &x)
}

#[test]
fn another_function_is_refused_by_name_and_nothing_is_spent() {
    let make = || Model::from_fn("small", &[2, 2], LIMITS, small).unwrap();
    let limits = |weights, inputs| ModelLimits { weights, inputs };
    let facts = "the function `small` of [2, 2] in 0 to 1, with results of [2, 4], weights of at most 1";
    let function = |name: &str, shape: &[u32], limits: ModelLimits, list: LayerList| {
        Model::from_fn(name, shape, limits, list).unwrap().architecture().clone()
    };
    let step: LayerList = |layers, x| {
        let x = layers.dense("dense", x, 4, true)?;
        layers.gelu("activation", &x)
    };
    let gate: LayerList = |layers, x| {
        let x = layers.dense("dense", x, 4, true)?;
        layers.silu("gelu", &x)
    };
    let product: LayerList = |layers, x| {
        let x = layers.dense("linear", x, 4, true)?;
        layers.gelu("gelu", &x)
    };
    let bias: LayerList = |layers, x| {
        let x = layers.dense("dense", x, 4, false)?;
        layers.gelu("gelu", &x)
    };
    let declared: LayerList = |layers, x| {
        let x = layers.dense("dense", x, 4, true)?;
        let x = layers.limited("dense", &x, 1)?;
        layers.gelu("gelu", &x)
    };
    let fewer: LayerList = |layers, x| layers.dense("dense", x, 4, true);
    let result: LayerList = |layers, x| small(layers, x)?.rows(0..1);
    let file: Architecture = ModelFile::read(IMAGES.as_bytes()).unwrap().into();
    let Architecture::File(read) = &file else { panic!("a file") };
    let file_name = format!("the model file `file` of SHA-256 {}", read.digest());
    let layers = "and layers of SHA-256 ";
    let others = [
        (function("large", &[2, 2], LIMITS, small), "the function `large` of [2, 2] in 0 to 1, "),
        (function("small", &[3, 2], LIMITS, small), "of [3, 2] in 0 to 1, with results of [3, 4], "),
        (function("small", &[2, 2], limits(2, [0, 1]), small), "weights of at most 2"),
        (function("small", &[2, 2], limits(1, [0, 2]), small), "in 0 to 2, "),
        (function("small", &[2, 2], limits(1, [-1, 1]), small), "in -1 to 1, "),
        (function("small", &[2, 2], LIMITS, result), "with results of [1, 4], "),
        (function("small", &[2, 2], LIMITS, step), layers),
        (function("small", &[2, 2], LIMITS, gate), layers),
        (function("small", &[2, 2], LIMITS, product), layers),
        (function("small", &[2, 2], LIMITS, bias), layers),
        (function("small", &[2, 2], LIMITS, declared), layers),
        (function("small", &[2, 2], LIMITS, fewer), layers),
        (file, &file_name),
        (Architecture::Digits, "the built-in model `digits`"),
    ];
    let ((_scratch, paths), (_many, many)) = (deal(&on_batch(&make(), 2)), deal_runs(&on_batch(&make(), 2), 2));
    let check = |error: InferenceError, name: &str| {
        assert_eq!(error.outcome(), Outcome::KeysRefused);
        let InferenceError::OtherModel { expected, got, .. } = &error else { panic!("{error}") };
        assert!(expected.starts_with(facts) && expected != got, "{error}");
        assert!(got.contains(name), "{error}, expected {name}");
        assert_eq!(expected.contains(layers), name == layers, "{error}");
    };
    for party in Party::BOTH {
        let (single, runs) = (&paths[party.index()], &many[party.index()]);
        for (other, name) in &others {
            check(KeyFolder::open_for(single, party, other, |_| ()).unwrap_err(), name);
            check(RunsFolder::open_for(runs, party, other, |_| ()).unwrap_err(), name);
        }
        check(KeyFolder::open(single, party, |_| ()).unwrap_err(), "no function");
        check(RunsFolder::open(runs, party, |_| ()).unwrap_err(), "no function");
    }
    let one = KeyFolder::open(&paths[0], Party::Zero, |_| ()).unwrap_err().to_string();
    let expected = format!(
        "key folder {}: expected {facts}, got no function; open it for the dealer's model, in a program that has it, or deal again",
        paths[0].display()
    );
    assert_eq!(one, expected);

    // Nothing is spent: the dealer's function opens all of it.
    let make: fn() -> Model = make;
    assert!(open_for(&paths, make).iter().all(|folder| folder.key_bytes() > 0));
    assert!(open_runs_for(&many, make).iter().all(|folder| folder.unused() == 2));
}

#[test]
fn functions_that_differ_only_in_what_takes_no_keys_are_refused() {
    fn conv(layers: &mut Layers<'_>, x: &Value, stride: [u32; 2]) -> Result<Value, InferenceError> {
        layers.conv2d("conv", x, &Conv2d { outputs: 2, kernel: [3, 3], stride, padding: [1, 1], bias: true })
    }
    fn sum(layers: &mut Layers<'_>, x: &Value, of: [usize; 2]) -> Result<Value, InferenceError> {
        let parts = [layers.dense("first", x, 4, true)?, layers.dense("second", x, 4, true)?];
        layers.gelu("gelu", &parts[of[0]].add(&parts[of[1]])?)
    }
    let pairs: [(&[u32], [LayerList; 2]); 5] = [
        (&[1, 4, 4], [|layers, x| conv(layers, x, [2, 2]), |layers, x| conv(layers, x, [3, 3])]),
        (&[2, 2], [|layers, x| sum(layers, x, [0, 1]), |layers, x| sum(layers, x, [0, 0])]),
        (&[2, 2], [|layers, x| sum(layers, x, [0, 0]), |layers, x| sum(layers, x, [1, 1])]),
        (
            &[2, 2],
            [
                |layers, x| layers.dense("dense", &x.rows(0..1)?, 4, true),
                |layers, x| layers.dense("dense", &x.rows(1..2)?, 4, true),
            ],
        ),
        (
            &[2, 2],
            [
                |layers, x| layers.dense("dense", x, 4, true),
                |layers, x| {
                    let x = layers.dense("dense", x, 4, true)?;
                    layers.limited("dense", &x, 1)
                },
            ],
        ),
    ];
    for (shape, lists) in pairs {
        let [model, other] = lists.map(|list| Model::from_fn("flow", shape, LIMITS, list).unwrap());
        assert_eq!(model.plan().unwrap().digest(), other.plan().unwrap().digest());
        let (_scratch, [path, _]) = deal(&model);
        let open = |model: &Model| KeyFolder::open_for(&path, Party::Zero, model.architecture(), |_| ());
        let error = open(&other).unwrap_err();
        assert!(
            matches!(&error, InferenceError::OtherModel { got, .. } if got.contains("layers of SHA-256")),
            "{error}"
        );
        assert!(open(&model).is_ok());
    }
}

#[test]
fn folders_of_other_models_are_opened_for_their_model_alone() {
    let file: Architecture = ModelFile::read(IMAGES.as_bytes()).unwrap().into();
    let function = pictures().architecture().clone();
    for (own, other) in [(Architecture::Digits, Architecture::Transformer), (file, Architecture::Digits)] {
        let model = Model::new(own.clone(), 1).unwrap();
        let ((_scratch, [path, _]), (_many, [runs, _])) = (deal(&model), deal_runs(&model, 1));
        assert_eq!(*KeyFolder::open_for(&path, Party::Zero, &own, |_| ()).unwrap().model(), model);
        assert_eq!(*RunsFolder::open_for(&runs, Party::Zero, &own, |_| ()).unwrap().model(), model);
        for other in [&other, &function] {
            let single = KeyFolder::open_for(&path, Party::Zero, other, |_| ()).unwrap_err();
            let many = RunsFolder::open_for(&runs, Party::Zero, other, |_| ()).unwrap_err();
            for error in [single, many] {
                let InferenceError::OtherModel { expected, got, .. } = &error else { panic!("{error}") };
                assert!(expected.contains(&format!("`{}`", own.name())), "{error}");
                assert!(got.contains(&format!("`{}`", other.name())), "{error}");
            }
        }
    }
}

#[test]
fn wrong_and_damaged_folders_of_a_function_are_refused_by_name() {
    let (_scratch, paths) = deal(&on_batch(&pictures(), 2));
    let (path, model) = (&paths[0], pictures());
    let refused = |party: Party, text: &str| {
        let error = KeyFolder::open_for(path, party, model.architecture(), |_| ()).map(drop).unwrap_err();
        assert!(error.to_string().contains(text), "{error}, expected `{text}`");
        assert_eq!(error.outcome(), Outcome::KeysRefused);
    };
    refused(Party::One, "expected keys of party 1, got keys of party 0");
    let edit = |file: &str, edit: &dyn Fn(Vec<u8>) -> Vec<u8>, text: &str| {
        let original = fs::read(path.join(file)).unwrap();
        fs::write(path.join(file), edit(original.clone())).unwrap();
        refused(Party::Zero, text);
        fs::write(path.join(file), original).unwrap();
    };
    let flip = |mut bytes: Vec<u8>| {
        *bytes.last_mut().unwrap() ^= 1;
        bytes
    };
    edit("002.key", &flip, "`002.key`: expected SHA-256");
    edit("identity.key", &flip, "`identity.key`");
    let replaced = |from: &'static str, to: &'static str| {
        move |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(from), "{text}");
            text.replacen(from, to, 1).into_bytes()
        }
    };
    let change = |from: &'static str, to: &'static str, text: &str| edit("manifest.json", &replaced(from, to), text);
    // The digest is of the batch and the choice of gates.
    change("\"count\": 2", "\"count\": 3", "and layers of SHA-256");
    change("\"prefer\": \"rounds\"", "\"prefer\": \"bytes\"", "and layers of SHA-256");
    change("\"count\": 2", "\"count\": 65537", "expected 1 to 65536 inputs, got 65537");
    change("\"plan\": \"", "\"plan\": \"0", "dealt for a different plan");
    change("\"model\": \"pictures\"", "\"model\": \"a\\nb\"", "expected the function `a\\nb` of [1, 4, 4]");
    change("\"weight_limit\": 1", "\"weight_limit\": 2", "weights of at most 2, got the function `pictures`");
    change("\"weight_limit\"", "\"weights\"", "unknown field `weights`");
    change("\"function\"", "\"model_sha256\": \"00\", \"function\"", "expected a model file or a function, got both");
    assert_eq!(open_for(&paths, pictures).map(|folder| folder.model().count()), [2; 2]);

    // Runs of another deal of the same function.
    let ((_many, many), (_others, others)) = (deal_runs(&pictures(), 1), deal_runs(&pictures(), 1));
    let manifest = |path: &Path| path.join("run-001/manifest.json");
    fs::copy(manifest(&others[0]), manifest(&many[0])).unwrap();
    let error = RunsFolder::open_for(&many[0], Party::Zero, model.architecture(), |_| ()).unwrap_err();
    assert!(error.to_string().contains("expected a run of the same deal"), "{error}");
}

#[test]
fn a_function_that_changes_from_run_to_run_opens_no_folder() {
    let (_scratch, paths) = deal(&Model::from_fn("growing", &[4], LIMITS, |layers, x| layers.relu("a", x)).unwrap());
    let runs = AtomicU32::new(0);
    let growing = move |layers: &mut Layers<'_>, x: &Value| {
        let x = layers.relu("a", x)?;
        // The same shapes when the model is made.
        if runs.fetch_add(1, Ordering::Relaxed) == 0 { Ok(x) } else { layers.relu("b", &x) }
    };
    let model = Model::from_fn("growing", &[4], LIMITS, growing).unwrap();
    let error = KeyFolder::open_for(&paths[0], Party::Zero, model.architecture(), |_| ()).unwrap_err();
    assert!(matches!(error, InferenceError::OtherModel { .. }), "{error}");
    assert!(!KeyFolder::is_used(&paths[0]));
}

#[test]
fn a_function_without_keys_has_folders() {
    let same = || Model::from_fn("same", &[4], LIMITS, |_, x| Ok(x.clone())).unwrap();
    let (_scratch, paths) = deal(&same());
    let folders = open_for(&paths, same);
    let (weights, inputs) = (weights(folders[1].model()), vec![0, 1, 2, 4096]);
    let keys = consume(folders, &weights, &inputs);
    let [client, _] = run_on(&same(), keys, memory_pair(PATIENCE).into(), &weights, &inputs).map(Result::unwrap);
    assert_eq!(client.logits, Some(inputs));
}

#[test]
fn an_interrupted_run_of_a_function_spends_its_folders() {
    let (_scratch, paths) = deal(&pictures());
    let ([client, server], model) = (open_for(&paths, pictures), pictures());
    let (weights, inputs) = (weights(&model), inputs(&model));
    let server = server.consume(Role::Server(&weights)).unwrap();
    drop(client.consume(Role::Client(&inputs)).unwrap());
    // The client is lost with its first message.
    let (mut to_server, to_client) = memory_pair(PATIENCE);
    let error = test_process::scope(|scope| {
        let (q, role, model) = (runtime::cpu().unwrap(), Role::Server(&weights), &model);
        let serving = scope.spawn(move || party::run(&q, model, server, to_client, role, |_| ()));
        let _ = to_server.exchange(&[0; 16]);
        drop(to_server);
        serving.join().unwrap().unwrap_err()
    });
    assert_eq!(error.outcome(), Outcome::PeerFailed, "{error}");
    for (path, party) in paths.iter().zip(Party::BOTH) {
        let again = KeyFolder::open_for(path, party, pictures().architecture(), |_| ()).unwrap_err();
        assert!(matches!(again, InferenceError::Used { .. }), "{again}");
        assert_eq!(key_files(path), [""; 0]);
    }
}

#[test]
fn many_runs_of_a_function_go_on_after_a_lost_one_and_end() {
    let model = pictures();
    let (_scratch, paths) = deal_runs(&model, 4);
    let (weights, inputs) = (weights(&model), inputs(&model));
    let expected = plain::logits(&model, &weights, &inputs).unwrap();
    let state = || paths.each_ref().map(|path| RunsFolder::state(path).unwrap().used);

    // The first run opens the weights.
    let planned = open_runs_for(&paths, pictures).each_ref().map(RunsFolder::traffic);
    let done = next_run(open_runs_for(&paths, pictures), &weights, &inputs).map(Result::unwrap);
    assert_eq!(done.each_ref().map(|inferred| inferred.traffic), planned);
    assert_eq!((done[0].logits.as_ref(), &done[1].logits), (Some(&expected), &None));

    // A second process finds the folder in use, and with another function no folder at all.
    let folders = open_runs_for(&paths, pictures);
    let locked = RunsFolder::open_for(&paths[0], Party::Zero, pictures().architecture(), |_| ()).unwrap_err();
    assert!(matches!(locked, InferenceError::InUse { .. }), "{locked}");
    assert!(folders.iter().all(|folder| folder.check_runs(|_| ()).unwrap() == 3 * folder.key_bytes()));
    drop(folders);

    // The client of the second run is lost once it is begun.
    let [mut client, server] = open_runs_for(&paths, pictures);
    let (mut to_server, to_client) = memory_pair(PATIENCE);
    let error = test_process::scope(|scope| {
        let role = Role::Server(&weights);
        let serving = scope.spawn(move || server.run(&runtime::cpu().unwrap(), to_client, role, |_| ()));
        let role = Role::Client(&inputs);
        let begun = client.begin(&runtime::cpu().unwrap(), &mut to_server, role, |_| ()).unwrap();
        assert_eq!(begun.index(), 2);
        drop(to_server);
        serving.join().unwrap().unwrap_err()
    });
    drop(client);
    assert!(matches!(error, InferenceError::FailedRun { run: 2, runs: 4, .. }), "{error}");
    assert_eq!(state(), [2; 2]);

    // A run that the server alone has used is skipped, then the last one.
    fs::write(paths[1].join("run-003/used"), b"").unwrap();
    let [client, _] = next_run(open_runs_for(&paths, pictures), &weights, &inputs).map(Result::unwrap);
    assert_eq!((client.logits, state()), (Some(expected), [4; 2]));
    for (path, party) in paths.iter().zip(Party::BOTH) {
        let ended = RunsFolder::open_for(path, party, pictures().architecture(), |_| ()).unwrap_err();
        assert!(matches!(ended, InferenceError::RunsUsed { runs: 4, .. }), "{ended}");
        assert!(!RunsFolder::opened_path(path).exists());
        for part in ["weights", "run-001", "run-002", "run-003", "run-004"] {
            assert_eq!(key_files(&path.join(part)), [""; 0], "{part}");
        }
    }
}

#[test]
fn a_pool_of_folders_of_a_function_serves_their_clients_on_one_address() {
    let (served, limits) = (pictures(), Limits { idle: PATIENCE, session: PATIENCE });
    let deals = [deal_runs(&pictures(), 2), deal_runs(&pictures(), 1)];
    let open = |path: &Path| RunsFolder::open_for(path, Party::One, served.architecture(), |_| ()).unwrap();
    let mut pool = deals.each_ref().map(|(_, paths)| open(&paths[1]));
    assert_eq!(pool[0].model(), pool[1].model(), "weights are read once for a pool");
    let (weights, inputs) = (weights(&served), inputs(&served));
    let expected = plain::logits(&served, &weights, &inputs).unwrap();
    let socket = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = socket.local_addr().unwrap();
    let mut listener = PeerListener::new(socket, &pool.each_ref().map(|folder| folder.endpoint(limits))).unwrap();
    test_process::scope(|scope| {
        let clients = scope.spawn(|| {
            for index in [1, 0, 0] {
                let (path, own) = (&deals[index].1[0], pictures());
                let folder = RunsFolder::open_for(path, Party::Zero, own.architecture(), |_| ()).unwrap();
                let channel = folder.endpoint(limits).connect(address).unwrap();
                let role = Role::Client(&inputs);
                let inferred = folder.run(&runtime::cpu().unwrap(), channel, role, |_| ()).unwrap();
                assert_eq!(inferred.logits.as_ref(), Some(&expected));
            }
        });
        for index in [1, 0, 0] {
            let peer = listener.accept(Some(PATIENCE), |_| (), || false).unwrap().unwrap();
            assert_eq!(peer.index(), index);
            let (mut channel, q, role) = (peer.channel().unwrap(), runtime::cpu().unwrap(), Role::Server(&weights));
            let run = pool[index].begin(&q, &mut channel, role, |_| ()).unwrap();
            run.run(&q, channel, role, |_| ()).unwrap();
        }
        clients.join().unwrap();
    });
    assert_eq!(pool.each_ref().map(RunsFolder::unused), [0; 2]);
}
