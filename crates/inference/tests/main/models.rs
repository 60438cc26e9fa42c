//! Models on shares against the same models in the clear.

use inference::{
    Architecture, InferenceError, Model, OpenedKeys, Parameters, Preference,
    party::{self, Role},
    plain,
};
use nn_ops::io::{Tensor, Tensors};
use pfss::{Dealer, OpenedWeights, Party, PfssError, WeightKey, memory_pair};

use crate::common::{PATIENCE, digits, images, keys, open_weights, run, run_opened, weights};

/// The shares' result, traffic and measured steps against the model in the clear and the plan.
fn holds(model: &Model) {
    let (weights, plan) = (weights(model), model.plan().unwrap());
    let [client, server] = run(model, keys(model), &weights).map(Result::unwrap);
    assert_eq!(client.logits, Some(plain::logits(model, &weights, &images(model)).unwrap()));
    assert_eq!(server.logits, None);
    for (party, inferred) in [(Party::Zero, &client), (Party::One, &server)] {
        assert_eq!(inferred.traffic, plan.traffic(party));
        assert_eq!(inferred.steps.iter().map(|step| step.sent_bytes).sum::<u64>(), inferred.traffic.sent_bytes);
        assert_eq!(inferred.steps.len(), plan.steps().len() + 1);
    }
}

#[test]
fn every_model_on_shares_is_the_model_in_the_clear_and_sends_what_its_plan_says() {
    for model in every_model(1).chain(every_model(3)) {
        holds(&model);
    }
}

/// Every architecture with every choice of gates.
fn every_model(count: usize) -> impl Iterator<Item = Model> {
    let models = Architecture::ALL.into_iter().map(move |architecture| Model::new(architecture, count).unwrap());
    models.flat_map(|model| Preference::ALL.map(|preference| model.clone().preferring(preference)))
}

#[test]
fn plans_differ_by_the_choice_of_gates() {
    for architecture in Architecture::ALL {
        let models =
            Preference::ALL.map(|preference| Model::new(architecture.clone(), 2).unwrap().preferring(preference));
        let plans = models.each_ref().map(|model| model.plan().unwrap());
        assert_eq!(Model::new(architecture.clone(), 2).unwrap().plan().unwrap(), plans[0]);
        let digests = plans.each_ref().map(|plan| plan.digest());
        let opened = models.each_ref().map(|model| model.opened_plan().unwrap().others().digest());
        for [a, b, c] in [digests, opened] {
            assert!(a != b && a != c && b != c);
        }
        for party in [Party::Zero, Party::One] {
            let [splines, tables, balanced] = plans.each_ref().map(|plan| plan.traffic(party));
            let has_functions = architecture == Architecture::Transformer;
            // GeLU and softmax by table
            let more = if has_functions { 2 * 5 } else { 0 };
            assert_eq!(tables.rounds, splines.rounds + more);
            assert_eq!(tables.sent_bytes > splines.sent_bytes, more > 0);
            // the same, without a second round for the mean, the variance, the selection and the shift of the root in
            // each of two norms, and for the selection and the shift of reciprocals
            let fewer = if has_functions { 2 * 4 + 2 } else { 0 };
            assert_eq!(balanced.rounds, tables.rounds - fewer);
            assert_eq!(balanced.sent_bytes < tables.sent_bytes, fewer > 0);
        }
    }
}

#[test]
fn parties_and_dealers_with_another_choice_of_gates_are_refused() {
    let [splines, tables] = [Preference::Rounds, Preference::KeyBytes]
        .map(|preference| Model::new(Architecture::Transformer, 1).unwrap().preferring(preference));
    let weights = weights(&splines);
    // Keys of the other plan, before anything is sent.
    let refused = run(&splines, keys(&tables), &weights).map(|result| result.unwrap_err().to_string());
    assert!(refused.iter().all(|reason| reason.starts_with("keys: expected ")), "{refused:?}");
    // Parties with keys of their own plans, at the step of the first gate that differs.
    let ([client, _], [_, server]) = (keys(&splines), keys(&tables));
    let images = images(&splines);
    let (to_server, to_client) = memory_pair(PATIENCE);
    let errors = test_process::scope(|scope| {
        let serving = scope.spawn(|| {
            let (q, role) = (runtime::cpu().unwrap(), Role::Server(&weights));
            party::run(&q, &tables, server, to_client, role, |_| ()).unwrap_err()
        });
        let (q, role) = (runtime::cpu().unwrap(), Role::Client(&images));
        let error = party::run(&q, &splines, client, to_server, role, |_| ()).unwrap_err();
        [error, serving.join().unwrap()]
    });
    for error in errors {
        assert!(matches!(error, InferenceError::Pfss(PfssError::Channel(_))), "{error}");
    }
}

#[test]
fn runs_on_opened_weights_are_the_model_in_the_clear_and_send_what_their_plan_says() {
    for model in every_model(2) {
        let (weights, plan, q) = (weights(&model), model.opened_plan().unwrap(), runtime::cpu().unwrap());
        let images = images(&model);
        let expected = plain::logits(&model, &weights, &images).unwrap();
        let mut dealer = Dealer::insecure_from_seed(4);
        let (keys, masks) = plan.deal_weights(&mut dealer).unwrap();
        let opened = open_weights(&model, keys, &weights).map(|(opened, traffic)| {
            assert_eq!(traffic, plan.opening_traffic());
            opened
        });
        for _ in 0..2 {
            let keys = plan.deal_run(&q, &mut dealer, &masks, |_| ()).unwrap();
            let [client, server] = run_opened(&model, keys, &opened, &weights, &images);
            assert_eq!((client.logits, server.logits), (Some(expected.clone()), None));
            assert_eq!(
                [client.traffic, server.traffic],
                [Party::Zero, Party::One].map(|party| plan.run_traffic(party))
            );
            assert_eq!(client.steps.len(), model.plan().unwrap().steps().len() + 1);
        }
        // A run that opens its weights sends as much as the opening and a run on opened weights, but for the digests of
        // the opening.
        let (once, digests) = (plan.opening_traffic(), 16 * plan.products().len() as u64);
        for party in [Party::Zero, Party::One] {
            let (whole, run) = (model.plan().unwrap().traffic(party), plan.run_traffic(party));
            assert_eq!(whole.sent_bytes, run.sent_bytes + once.sent_bytes - digests);
            assert_eq!((whole.rounds, once.rounds), (run.rounds, plan.products().len() as u64));
        }
    }
}

#[test]
fn keys_and_opened_weights_of_other_plans_parties_and_deals_are_refused_before_anything_is_sent() {
    let (model, q) = (digits(1), runtime::cpu().unwrap());
    let (weights, plan) = (weights(&model), model.opened_plan().unwrap());
    let mut dealer = Dealer::insecure_from_seed(5);
    let mut opened = || {
        let (keys, masks) = plan.deal_weights(&mut dealer).unwrap();
        (open_weights(&model, keys, &weights).map(|(opened, _)| opened), masks)
    };
    let (([client, server], masks), ([others, _], mut swapped)) = (opened(), opened());
    swapped.swap(0, 1);
    let keys = || {
        let [client, _] = plan.deal_run(&q, &mut Dealer::insecure_from_seed(6), &masks, |_| ()).unwrap();
        client
    };
    let run = |model: &Model, keys: OpenedKeys, opened: &[OpenedWeights]| {
        let (to_server, _to_client) = memory_pair(PATIENCE);
        let images = images(model);
        party::run_opened(&q, model, keys, opened, to_server, Role::Client(&images), |_| ()).unwrap_err()
    };
    let reason = |error: InferenceError| match error {
        InferenceError::Keys { reason } => reason,
        error => panic!("{error}"),
    };

    // Inputs.
    let (to_server, _to_client) = memory_pair(PATIENCE);
    let whole = images(&model);
    let role = Role::Client(&whole[1..]);
    let refused = party::run_opened(&q, &model, keys(), &client, to_server, role, |_| ()).unwrap_err();
    assert!(matches!(refused, InferenceError::Images { expected: 64, got: 63 }), "{refused}");
    // Opened weights.
    assert_eq!(reason(run(&model, keys(), &client[..1])), "expected 2 opened weights, got 1");
    assert!(matches!(run(&model, keys(), &server), InferenceError::Pfss(PfssError::WrongParty { .. })));
    assert!(matches!(run(&model, keys(), &others), InferenceError::Pfss(PfssError::OtherWeights { .. })));
    // Triples.
    let other_rows = reason(run(&digits(2), keys(), &client));
    assert_eq!(other_rows, "triple 0 of weights: expected 2 rows, got 1");
    let mut exchanged = keys();
    exchanged.products.swap(0, 1);
    let exchanged = reason(run(&model, exchanged, &client));
    assert_eq!(exchanged, "triple 0 of weights: expected 64 x 64, got 64 x 10");
    let mut fewer = keys();
    fewer.products.pop();
    assert_eq!(reason(run(&model, fewer, &client)), "expected 2 triples of weights, got 1");
    // The dealer's masks.
    let dealt = plan.deal_run(&q, &mut Dealer::insecure_from_seed(6), &swapped, |_| ()).unwrap_err();
    assert_eq!(reason(dealt), "mask 0 of weights: expected 64 x 64, got 64 x 10");
    // Keys of weights.
    let ([mut client_keys, server_keys], _) = plan.deal_weights(&mut Dealer::insecure_from_seed(7)).unwrap();
    let open = |keys: Vec<WeightKey>| {
        let (to_server, _to_client) = memory_pair(PATIENCE);
        party::open_weights(&q, &model, keys, to_server, None).map(drop).unwrap_err()
    };
    assert!(matches!(open(server_keys), InferenceError::Pfss(PfssError::WrongParty { .. })));
    client_keys.swap(0, 1);
    assert_eq!(reason(open(client_keys)), "key 0 of weights: expected 64 x 64, got 64 x 10");
    assert_eq!(reason(open(vec![])), "expected 2 keys of weights, got 0");
}

#[test]
fn the_digits_network_in_fixed_point_is_the_network_in_floating_point_up_to_rounding() {
    let model = digits(20);
    let tensor = |(name, shape, scale): (&str, Vec<usize>, f32)| {
        let data = (0..shape.iter().product::<usize>()).map(|i| scale * ((i * 37 % 101) as f32 / 50.5 - 1.0)).collect();
        (name.to_owned(), Tensor { shape, data })
    };
    let tensors: Tensors = [
        ("hidden.weight", vec![64, 64], 0.4),
        ("hidden.bias", vec![64], 0.3),
        ("output.weight", vec![64, 10], 0.5),
        ("output.bias", vec![10], 0.2),
    ]
    .map(tensor)
    .into();
    let weights = Parameters::from_tensors(&model, &tensors).unwrap();
    let got = plain::logits(&model, &weights, &images(&model)).unwrap();

    let dense = |x: &[f64], name: &str, outputs: usize| -> Vec<f64> {
        let [w, b] = ["weight", "bias"].map(|part| &tensors[&format!("{name}.{part}")].data);
        let sum = |j: usize| x.iter().enumerate().map(|(i, x)| x * f64::from(w[i * outputs + j])).sum::<f64>();
        (0..outputs).map(|j| sum(j) + f64::from(b[j])).collect()
    };
    for (image, logits) in images(&model).chunks(64).zip(got.chunks(10)) {
        let pixels: Vec<f64> = image.iter().map(|&pixel| pixel as f64 / 4096.0).collect();
        let hidden: Vec<f64> = dense(&pixels, "hidden", 64).into_iter().map(|x| x.max(0.0)).collect();
        for (exact, &word) in dense(&hidden, "output", 10).iter().zip(logits) {
            // 64 products of hidden values up to 13 with weights rounded by 2^-13, of roundings up to 64 * 2^-13 + 2^-12
            // with weights up to 0.5
            let error = (word.cast_signed() as f64 / f64::from(1 << 24) - exact).abs();
            assert!(error < 64.0 * (13.0 + 0.5 * 66.0) / 8192.0, "{error}");
            assert!(error < 0.05, "{error}");
        }
    }
}

#[test]
fn weights_that_are_not_the_architecture_s_are_refused_by_name() {
    let model = digits(1);
    let tensors = |change: &dyn Fn(&mut Tensors)| {
        let zeros = |parameter: inference::Parameter| {
            (parameter.name.clone(), Tensor { data: vec![0.0; parameter.len()], shape: parameter.shape })
        };
        let mut tensors: Tensors = model.parameters().into_iter().map(zeros).collect();
        change(&mut tensors);
        match Parameters::from_tensors(&model, &tensors) {
            Err(InferenceError::Parameters { reason }) => reason,
            other => panic!("{other:?}"),
        }
    };
    let set = |name: &str, value: f32| {
        let name = name.to_owned();
        move |tensors: &mut Tensors| tensors.get_mut(&name).unwrap().data[1] = value
    };
    assert!(tensors(&|all| drop(all.remove("output.bias"))).contains("`output.bias`: missing"));
    assert!(tensors(&|all| all.get_mut("hidden.weight").unwrap().shape = vec![4096]).contains("shape [64, 64]"));
    for value in [4.1, -5.0, f32::NAN, f32::INFINITY] {
        assert!(tensors(&set("hidden.weight", value)).contains("magnitudes of at most 4"), "{value}");
    }
    assert!(matches!(Parameters::read(&model, b"no file"), Err(InferenceError::Parameters { .. })));
    assert!(matches!(Model::new(Architecture::Digits, 0), Err(InferenceError::Count { got: 0, .. })));
    let mut pixels = vec![0; 64];
    assert!(plain::logits(&model, &Parameters::zeros(&model), &pixels).is_ok());
    pixels[3] = 4097;
    let refused = |pixels: &[u64]| plain::logits(&model, &Parameters::zeros(&model), pixels).unwrap_err();
    assert!(matches!(refused(&pixels), InferenceError::Pixel { at: 3, max: 4096, got: 4097 }));
    assert!(matches!(refused(&pixels[..3]), InferenceError::Images { expected: 64, got: 3 }));
}
