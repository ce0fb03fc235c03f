//! Every route, in every layout, as every kind of server.

use assay_fmke::{AnswerStyle, ServerLimits};
use assay_workload::script::fmke::FmkeLayout;

use crate::http::Caller;
use crate::served::Served;

fn serve(layout: FmkeLayout, compat: AnswerStyle) -> Served {
    Served::memory(layout, compat, ServerLimits::default())
}

#[track_caller]
fn check(caller: &mut Caller, request: &str, status: u16, result: &str) {
    let mut words = request.splitn(3, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (method, path, body) = (word(), word(), word());
    let response = caller.call(method, path, body);
    let success = !result.starts_with('!');
    // Texts of several lines are broken for the reader alone.
    let result: String = result.trim_start_matches('!').lines().map(str::trim_start).collect();
    let is_json = result.starts_with(['{', '[']);
    let result = if is_json { result } else { format!("\"{result}\"") };
    let body = format!("{{\"success\":{success},\"result\":{result}}}");
    assert_eq!((response.status(), response.body.as_str()), (status, body.as_str()), "{request}");
    let length = ("content-length".to_owned(), response.body.len().to_string());
    let json = ("content-type".to_owned(), "application/json".to_owned());
    assert_eq!((response.headers, response.is_dated), (vec![length, json], true), "{request}");
}

const FAILED: &str = "!Woops! This request failed. That's all we know!";
const NO_FIELDS: &str = "!Missing request body or incomplete list of fields.";

/// A patient, a pharmacy, a member of the staff, a facility, all with number 1.
fn populate(caller: &mut Caller) {
    for request in [
        r#"POST /patients {"id":1,"name":"Ann","address":"R1"}"#,
        r#"POST /pharmacies {"id":1,"name":"Ph","address":"R2"}"#,
        r#"POST /staff {"id":1,"name":"Doc","address":"R3","speciality":"Heart"}"#,
        r#"POST /facilities {"id":1,"name":"Fa","address":"R4","type":"Hospital"}"#,
    ] {
        check(caller, request, 200, "ok");
    }
}

fn create(id: u64, drugs: &str) -> String {
    format!(
        r#"POST /prescriptions {{"id":{id},"patient_id":1,"prescriber_id":1,
            "pharmacy_id":1,"date_prescribed":"d|{id}","drugs":"{drugs}"}}"#
    )
}

fn prescription(id: u64, drugs: &str, state: &str, processed: &str) -> String {
    format!(
        r#"{{"prescriptionId":{id},"prescriptionPatientId":1,
            "prescriptionPharmacyId":1,"prescriptionPrescriberId":1,
            "prescriptionDrugs":[{drugs}],
            "prescriptionIsProcessed":"prescription_{state}",
            "prescriptionDatePrescribed":"d|{id}",
            "prescriptionDateProcessed":"{processed}"}}"#
    )
}

#[test]
fn persons_and_places_are_created_read_and_updated() {
    for layout in FmkeLayout::ALL {
        let served = serve(layout, AnswerStyle::Corrected);
        let caller = &mut served.caller();
        populate(caller);
        for (path, taken) in [
            ("patients", "!patient_id_taken"),
            ("pharmacies", "!pharmacy_id_taken"),
            ("staff", "!staff_id_taken"),
            ("facilities", "!facility_id_taken"),
        ] {
            let body = r#"{"id":1,"name":"a","address":"b","speciality":"c","type":"d"}"#;
            check(caller, &format!("POST /{path} {body}"), 200, taken);
        }
        let facility = r#"{"facilityId":1,"facilityName":"Fa","facilityAddress":"R4",
            "facilityType":"Hospital"}"#;
        check(caller, "GET /facilities/1", 200, facility);
        check(caller, &create(9, "a"), 200, "ok");
        for (path, missing) in [
            ("patients", "!no_such_patient"),
            ("pharmacies", "!no_such_pharmacy"),
            ("staff", "!no_such_staff"),
            ("facilities", "!no_such_facility"),
        ] {
            let body = r#"{"name":"New \"q\"","address":"ä","speciality":"c","type":"d"}"#;
            check(caller, &format!("PUT /{path}/1 {body}"), 200, "ok");
            check(caller, &format!("PUT /{path}/7 {body}"), 200, missing);
            check(caller, &format!("GET /{path}/7"), 200, "!not_found");
        }
        // An update keeps the list.
        let list = match layout {
            FmkeLayout::Normalised => r#""prescription_9""#.to_owned(),
            _ => prescription(9, r#""a""#, "not_processed", "undefined"),
        };
        let staff = format!(
            r#"{{"staffId":1,"staffName":"New \"q\"","staffAddress":"ä",
                "staffSpeciality":"c","staffPrescriptions":[{list}]}}"#
        );
        check(caller, "GET /staff/1", 200, &staff);
    }
}

#[test]
fn prescriptions_are_created_changed_and_processed_with_all_copies() {
    for layout in FmkeLayout::ALL {
        let served = serve(layout, AnswerStyle::Corrected);
        let caller = &mut served.caller();
        populate(caller);
        check(caller, &create(5, " a, b;|c "), 200, "ok");
        check(caller, &create(5, "a"), 200, "!prescription_id_taken");
        check(caller, &create(6, "x"), 200, "ok");
        check(caller, r#"PUT /prescriptions/5 {"drugs":"d,d"}"#, 200, "ok");
        let five = |state, date| prescription(5, r#""a","b;|c","d","d""#, state, date);
        check(caller, "GET /prescriptions/5", 200, &five("not_processed", "undefined"));
        check(caller, r#"PUT /prescriptions/5 {"date_processed":"2020|1"}"#, 200, "ok");
        let five = five("processed", "2020|1");
        check(caller, "GET /prescriptions/5", 200, &five);
        for body in [r#"{"drugs":"e"}"#, r#"{"date_processed":"e"}"#] {
            let request = format!("PUT /prescriptions/5 {body}");
            check(caller, &request, 200, "!prescription_already_processed");
            let request = format!("PUT /prescriptions/77 {body}");
            check(caller, &request, 200, "!no_such_prescription");
        }
        let six = prescription(6, r#""x""#, "not_processed", "undefined");
        let list = match layout {
            FmkeLayout::NestedPacked => format!("[{six},{five}]"),
            _ => format!("[{five},{six}]"),
        };
        for path in ["/pharmacies/1/prescriptions", "/staff/1/prescriptions"] {
            check(caller, &format!("GET {path}"), 200, &list);
        }
        let processed = "GET /pharmacies/1/processed_prescriptions";
        check(caller, processed, 200, &format!("[{five}]"));
        check(caller, "GET /pharmacies/8/prescriptions", 200, "!no_such_pharmacy");
        check(caller, "GET /pharmacies/8/processed_prescriptions", 200, "!no_such_pharmacy");
        check(caller, "GET /staff/8/prescriptions", 200, "!no_such_staff");
        let in_patient = match layout {
            FmkeLayout::Normalised => r#"["prescription_5","prescription_6"]"#.to_owned(),
            _ => list,
        };
        let patient = format!(
            r#"{{"patientId":1,"patientName":"Ann","patientAddress":"R1",
                "patientPrescriptions":{in_patient}}}"#
        );
        check(caller, "GET /patients/1", 200, &patient);
        let unknown = create(7, "a").replace("\"patient_id\":1", "\"patient_id\":4");
        check(caller, &unknown, 200, "!no_such_patient");
        let unknown = create(7, "a").replace("\"prescriber_id\":1", "\"prescriber_id\":4");
        check(caller, &unknown, 200, "!no_such_staff");
        let unknown = create(7, "a").replace("\"pharmacy_id\":1", "\"pharmacy_id\":4");
        check(caller, &unknown, 200, "!no_such_pharmacy");
        check(caller, "GET /prescriptions/7", 200, "!not_found");
    }
}

#[test]
fn every_status_code_comes_when_it_should() {
    let served = serve(FmkeLayout::Normalised, AnswerStyle::Corrected);
    let caller = &mut served.caller();
    populate(caller);
    for (request, status, result) in [
        ("GET /patients", 500, FAILED),
        ("DELETE /patients/1", 500, FAILED),
        ("POST /patients not json", 500, FAILED),
        ("POST /patients", 500, FAILED),
        (r#"POST /patients {"id":"abc","name":"A","address":"x"}"#, 500, FAILED),
        (r#"POST /patients {"id":3,"name":7,"address":"x"}"#, 500, FAILED),
        (r#"POST /patients {"id":"5","name":"A","address":"x"}"#, 200, "ok"),
        (r#"PUT /prescriptions/1 {"drugs":"a","date_processed":"b"}"#, 500, FAILED),
        ("PUT /pharmacies/1 {}", 400, NO_FIELDS),
        ("PUT /pharmacies/1 \"\"", 400, NO_FIELDS),
        ("GET /patients/abc", 400, "!invalid_id"),
        ("GET /patients/-1", 400, "!invalid_id"),
        ("GET /patients/18446744073709551616", 200, "!not_found"),
        ("GET /pharmacies/18446744073709551616/prescriptions", 200, "!no_such_pharmacy"),
        (
            r#"PUT /staff/99999999999999999999 {"name":"a","address":"b","speciality":"c"}"#,
            200,
            "!no_such_staff",
        ),
        (
            r#"POST /patients {"id":18446744073709551616,"name":"A","address":"x"}"#,
            400,
            "!invalid_id",
        ),
    ] {
        check(caller, request, status, result);
    }
    let missing = caller.call("GET", "/nothing", "");
    assert_eq!(missing.line, "HTTP/1.1 404 Not Found");
    assert_eq!(missing.headers, [("content-length".to_owned(), "0".to_owned())]);
    assert!(missing.is_dated);
    for method in ["GET", "POST", "PUT"] {
        let status = caller.call(method, "/", "");
        assert_eq!(status.status(), 200);
        assert!(status.body.contains(r#""fmke_up":true"#), "{status:?}");
        assert!(status.body.contains(r#""target_database":"memory""#), "{status:?}");
    }
}

#[test]
fn compatible_servers_answer_lists_with_the_owner() {
    for (compat, id) in [(AnswerStyle::Repo, "1"), (AnswerStyle::Antidote, "\"1\"")] {
        let served = serve(FmkeLayout::Normalised, compat);
        let caller = &mut served.caller();
        populate(caller);
        check(caller, &create(5, "a"), 200, "ok");
        let pharmacy = format!(
            r#"{{"pharmacyId":{id},"pharmacyName":"Ph","pharmacyAddress":"R2",
                "pharmacyPrescriptions":["prescription_5"]}}"#
        );
        for list in ["prescriptions", "processed_prescriptions"] {
            check(caller, &format!("GET /pharmacies/1/{list}"), 200, &pharmacy);
            check(caller, &format!("GET /pharmacies/3/{list}"), 200, "!not_found");
        }
        // Both are wrong: the taken identifier comes first, with AntidoteDB last.
        let both = create(5, "a").replace("\"pharmacy_id\":1", "\"pharmacy_id\":4");
        let first = match compat {
            AnswerStyle::Antidote => "!no_such_pharmacy",
            _ => "!prescription_id_taken",
        };
        check(caller, &both, 200, first);
    }
}
