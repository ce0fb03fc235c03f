//! Location of our own Java part.

use std::path::{Path, PathBuf};

use assay_driver_kit::Surroundings;

/// The archive of our own classes.
const ARCHIVE: &str = "assay-bridge.jar";
/// The folder that Maven makes, beside which `lib` has what the classes need.
const FOLDER: &str = "assay-jvm";

/// Our Java part on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The archive of our own classes.
    pub(super) archive: PathBuf,
    /// The folder of YCSB's core and of the stores that we have bindings for.
    pub(super) library: PathBuf,
}

/// Our Java part at `given`, else where `ASSAY_JVM_BRIDGE` says, else beside the program, else
/// where Maven leaves it in a checkout that this program was built in.
///
/// # Errors
/// If it is not there; says how to build it.
pub(super) fn find(given: Option<&Path>, surroundings: &Surroundings) -> Result<Place, String> {
    let variable = (surroundings.variable)("ASSAY_JVM_BRIDGE").map(PathBuf::from);
    let variable = variable.filter(|path| !path.as_os_str().is_empty());
    let candidates = match (given, variable) {
        (Some(given), _) => vec![given.to_owned()],
        (None, Some(named)) => vec![named],
        (None, None) => usual(surroundings),
    };
    let there = candidates.iter().find(|folder| folder.join(ARCHIVE).is_file());
    let Some(folder) = there else {
        let looked: Vec<String> =
            candidates.iter().map(|folder| folder.display().to_string()).collect();
        return Err(format!(
            "its Java part ({ARCHIVE}) is not in {}; build it with `mvn -q -f java package` in \
             Assay's sources, then set ASSAY_JVM_BRIDGE to java/target/{FOLDER} there, or copy \
             that folder beside this program",
            if looked.is_empty() { "any usual place".into() } else { looked.join(" or ") }
        ));
    };
    // Java's own idea of where we are may change.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    Ok(Place { archive: folder.join(ARCHIVE), library: folder.join("lib") })
}

/// Beside the program; `target/release/assay` of a checkout has `java` two folders up.
fn usual(surroundings: &Surroundings) -> Vec<PathBuf> {
    let program = (surroundings.program)();
    let beside = program.as_deref().and_then(Path::parent);
    let Some(beside) = beside else { return Vec::new() };
    let mut places = vec![beside.join(FOLDER)];
    let checkout = beside.parent().and_then(Path::parent);
    places.extend(checkout.map(|checkout| checkout.join("java/target").join(FOLDER)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_java_part_is_found_where_the_setting_says() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(ARCHIVE), "").unwrap();
        let place = find(Some(folder.path()), &Surroundings::NONE).unwrap();
        let real = folder.path().canonicalize().unwrap();
        let expected = Place { archive: real.join(ARCHIVE), library: real.join("lib") };
        assert_eq!(place, expected);
    }

    #[test]
    fn a_missing_java_part_says_where_it_was_looked_for_and_how_to_build_it() {
        let built = Surroundings {
            program: || Some("/checkout/target/release/assay".into()),
            ..Surroundings::NONE
        };
        let reported = find(None, &built).unwrap_err();
        assert!(
            reported.contains(
                "is not in /checkout/target/release/assay-jvm or \
                 /checkout/java/target/assay-jvm; build it with `mvn -q -f java package`"
            ),
            "{reported}"
        );
        let named = Surroundings { variable: |_| Some("/elsewhere".into()), ..Surroundings::NONE };
        assert!(find(None, &named).unwrap_err().contains("is not in /elsewhere; build it"));
        let reported = find(None, &Surroundings::NONE).unwrap_err();
        assert!(reported.contains("is not in any usual place"), "{reported}");
    }
}
