//! Provenance of the binary: an unsigned in-toto statement in the form of SLSA 1.0.

use serde_json::json;

use super::{Build, FEATURES, STATIC, TARGET};

/// The statement about the binary with the SHA-256 `sum`.
pub fn statement(build: &Build, sum: &str) -> String {
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "assay", "digest": { "sha256": sum } }],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "cargo xtask dist",
                "externalParameters": {
                    "profile": build.profile,
                    "target": TARGET,
                    "features": FEATURES,
                    "rustflags": STATIC,
                },
                "resolvedDependencies": [
                    { "uri": "git:assay", "digest": { "gitCommit": build.commit } },
                    { "name": build.rustc },
                ],
            },
            "runDetails": { "builder": { "id": "local" } },
        },
    });
    format!("{statement:#}\n")
}
