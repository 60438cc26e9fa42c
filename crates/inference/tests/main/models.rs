//! Models on shares against the same models in the clear.

use inference::{Architecture, InferenceError, Model, Parameters, plain};
use nn_ops::io::{Tensor, Tensors};
use pfss::Party;

use crate::common::{digits, images, keys, run, weights};

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
    for architecture in Architecture::ALL {
        for count in [1, 3] {
            holds(&Model::new(architecture, count).unwrap());
        }
    }
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
