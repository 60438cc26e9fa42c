//! Each gate of a run reads its own keys, and refuses keys that changed after the check.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
};

use inference::{
    Architecture, Deal, InferenceError, Key, Keys, Model, Outcome, Preference,
    folder::KeyFolder,
    party::{self, Role},
};
use pfss::{Channel, ChannelError, MemoryChannel, Party, memory_pair};

use crate::{
    common::{
        PATIENCE, consume, deal, deal_runs, digits, images, keys, next_run, open, open_runs, run, run_over, weights,
    },
    folders::key_files,
};

#[test]
fn a_run_has_the_keys_of_one_gate_in_memory() {
    let transformer = |preference| Model::new(Architecture::Transformer, 5).unwrap().preferring(preference);
    for model in [digits(8)].into_iter().chain(Preference::ALL.map(transformer)) {
        let ((_scratch, paths), plan) = (deal(&model), model.plan().unwrap());
        let sizes = key_files(&paths[1]).into_iter().map(|name| fs::metadata(paths[1].join(name)).unwrap().len());
        // Some of the files are read when the run begins, others stay open.
        let (small, large): (Vec<u64>, Vec<u64>) = sizes.partition(|&size| size <= 1 << 16);
        assert!(!small.is_empty() && !large.is_empty(), "{model:?}");
        let (weights, images) = (weights(&model), images(&model));
        let all = keys(&model).map(|keys| keys.len());
        let consumed = consume(open(&paths), &weights, &images);
        assert_eq!(consumed.each_ref().map(Keys::len), all);
        paths.iter().for_each(|path| assert_eq!(key_files(path), [""; 0]));

        let done = run(&model, consumed, &weights).map(Result::unwrap);
        let expected = inference::plain::logits(&model, &weights, &images).unwrap();
        assert_eq!(done[0].logits.as_ref(), Some(&expected));
        let most = Party::BOTH.map(|party| plan.most_memory_bytes(party));
        assert_eq!(done.each_ref().map(|inferred| inferred.key_memory_bytes), most);
        // Keys that were dealt in this process are in memory from the beginning.
        let sum = Party::BOTH.map(|party| plan.steps().iter().map(|step| step.memory_bytes(party)).sum::<u64>());
        let done = run(&model, keys(&model), &weights).map(Result::unwrap);
        assert_eq!(done.map(|inferred| inferred.key_memory_bytes), sum);
        assert!(most[0] < sum[0] && most[1] < sum[1]);
    }
}

/// A channel that counts the messages of a party.
struct Counting<'a> {
    inner: MemoryChannel,
    sent: &'a AtomicU64,
}

impl Channel for Counting<'_> {
    fn party(&self) -> Party {
        self.inner.party()
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.inner.send(message)
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        self.inner.recv(len)
    }
}

/// Damaged keys of each gate end a run after the rounds of all gates before it, and not sooner.
#[test]
fn each_gate_of_a_softmax_and_a_function_reads_its_keys_when_it_runs() {
    for (preference, name) in [(Preference::Rounds, "attention.softmax"), (Preference::KeyBytes, "feed.gelu")] {
        let model = Model::new(Architecture::Transformer, 1).unwrap().preferring(preference);
        let (plan, weights, images) = (model.plan().unwrap(), weights(&model), images(&model));
        let before: usize = plan.steps().iter().take_while(|step| step.name != name).map(|step| step.deals.len()).sum();
        let (deals, step) = (plan.deals().collect::<Vec<_>>(), plan.steps().iter().find(|step| step.name == name));
        for index in (before..).take(step.unwrap().deals.len()) {
            let (_scratch, paths) = deal(&model);
            let folders = open(&paths);
            let file = paths[1].join(format!("{index:03}.key"));
            let mut bytes = fs::read(&file).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(&file, bytes).unwrap();
            let sent = [0, 0].map(AtomicU64::new);
            let (to_server, to_client) = memory_pair(PATIENCE);
            let channels = [(to_server, &sent[0]), (to_client, &sent[1])].map(|(inner, sent)| Counting { inner, sent });
            let [_, server] = run_over(&model, consume(folders, &weights, &images), channels, &weights);
            assert!(server.unwrap_err().to_string().contains("changed since it was checked"));
            // Two look-ups read their keys together.
            let first = index - usize::from(matches!(deals[index], Deal::Alongside(..)));
            let rounds: u64 = deals[..first].iter().map(|deal| deal.traffic().1).sum();
            assert_eq!(sent[1].load(Ordering::Relaxed), rounds, "{name}, {index}");
        }
    }
}

#[test]
fn the_largest_step_of_the_digits_network_is_its_relu() {
    // For each of 64 units a ReLU of 22 bits: trees of 256 bytes, 3 words, 1 bit; and a seed for party 0.
    let (plan, units) = (digits(8).plan().unwrap(), 8 * 64);
    let relu = units * (256 + 24) + units / 8;
    assert_eq!(Party::BOTH.map(|party| plan.most_memory_bytes(party)), [relu + 32, relu]);
}

#[test]
fn runs_on_opened_weights_have_their_triples_and_the_keys_of_one_gate_in_memory() {
    let model = digits(8);
    let (_scratch, paths) = deal_runs(&model, 2);
    let plan = model.opened_plan().unwrap();
    for _ in 0..2 {
        let done = next_run(open_runs(&paths), &weights(&model), &images(&model)).map(Result::unwrap);
        let most = |party| plan.triple_memory_bytes(party) + plan.others().most_memory_bytes(party);
        assert_eq!(done.map(|inferred| inferred.key_memory_bytes), Party::BOTH.map(most));
    }
}

#[test]
fn files_that_are_replaced_after_they_were_checked_leave_the_folder_unused() {
    let model = digits(8);
    let ((_scratch, paths), (_others, others)) = (deal(&model), deal(&model));
    let (path, images) = (&paths[0], images(&model));
    for name in key_files(path) {
        let (file, other) = (path.join(&name), others[0].join(&name));
        let (original, other) = (fs::read(&file).unwrap(), fs::read(other).unwrap());
        let shorter = &original[..original.len() - 1];
        let longer = [&original[..], &[0]].concat();
        for changed in [&other[..], shorter, &longer[..]] {
            let [client, _] = open(&paths);
            fs::write(&file, changed).unwrap();
            let error = client.consume(Role::Client(&images)).map(drop).unwrap_err();
            assert!(error.to_string().contains("expected the file that was checked"), "{name}: {error}");
            assert_eq!(error.outcome(), Outcome::KeysRefused);
            fs::write(&file, &original).unwrap();
        }
        let [client, _] = open(&paths);
        fs::remove_file(&file).unwrap();
        let error = client.consume(Role::Client(&images)).map(drop).unwrap_err();
        assert!(error.to_string().contains(&format!("`{name}`: is missing")), "{error}");
        fs::write(&file, &original).unwrap();
    }
    assert!(!KeyFolder::is_used(path));
    consume(open(&paths), &weights(&model), &images);
}

#[test]
fn keys_that_a_killed_process_left_in_a_used_folder_are_removed() {
    let model = digits(2);
    let (_scratch, paths) = deal(&model);
    let [early, _] = open(&paths);
    // by a process that was killed before it had removed all keys
    fs::write(paths[0].join("used"), b"").unwrap();
    fs::remove_file(paths[0].join("000.key")).unwrap();
    let images = images(&model);
    let refused = early.consume(Role::Client(&images)).map(drop).unwrap_err();
    assert!(matches!(refused, InferenceError::Used { .. }), "{refused}");
    assert!(!key_files(&paths[0]).is_empty());
    let refused = KeyFolder::open(&paths[0], Party::Zero, |_| ()).unwrap_err();
    assert!(matches!(refused, InferenceError::Used { .. }), "{refused}");
    assert_eq!(key_files(&paths[0]), [""; 0]);
}

#[test]
fn bytes_that_change_after_they_were_checked_end_the_run_before_they_are_used() {
    let model = digits(8);
    let (weights, images) = (weights(&model), images(&model));
    for index in 0..model.plan().unwrap().deals().count() {
        let (_scratch, paths) = deal(&model);
        let folders = open(&paths);
        // The last byte: none of those that are compared when the files are opened.
        let file = paths[1].join(format!("{index:03}.key"));
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, bytes).unwrap();
        let [client, server] = run(&model, consume(folders, &weights, &images), &weights);
        let error = server.unwrap_err();
        let expected = format!("`{index:03}.key`: changed since it was checked");
        assert!(error.to_string().contains(&expected), "{error}");
        assert_eq!(error.outcome(), Outcome::KeysRefused);
        assert_eq!(client.unwrap_err().outcome(), Outcome::PeerFailed);
    }
}

#[test]
fn keys_of_a_folder_for_another_batch_are_refused_before_anything_is_sent() {
    let model = digits(2);
    let (_scratch, paths) = deal(&model);
    let [client, server] = consume(open(&paths), &weights(&model), &images(&model));
    let refused = |keys: Keys, model: &Model, party: Party| {
        let (to_server, to_client) = memory_pair(PATIENCE);
        let (images, weights) = (images(model), weights(model));
        let q = runtime::cpu().unwrap();
        match party {
            Party::Zero => party::run(&q, model, keys, to_server, Role::Client(&images), |_| ()).unwrap_err(),
            Party::One => party::run(&q, model, keys, to_client, Role::Server(&weights), |_| ()).unwrap_err(),
        }
    };
    let other = refused(client, &digits(3), Party::Zero);
    assert!(other.to_string().contains("key 0 is for a different gate or element count"), "{other}");
    let party = refused(server, &digits(2), Party::Zero);
    assert!(matches!(party, InferenceError::Pfss(_)) && party.outcome() == Outcome::KeysRefused, "{party}");
    let none = refused(Vec::<Key>::new().into(), &digits(2), Party::One);
    assert!(none.to_string().contains("expected 4 keys, got 0"), "{none}");
}
