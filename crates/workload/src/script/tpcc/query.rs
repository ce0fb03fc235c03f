//! Queries of TPC-C in SQL.

use assay_model::Kind;
use assay_model::script::QueryRef;

use crate::script::program::{QueryText, issue};

/// The queries, by their places in [`QUERIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Query {
    WarehouseTax,
    NextOrder,
    District,
    CustomerDiscount,
    Item,
    Stock,
    StockUpdate,
    OrderInsert,
    NewOrderInsert,
    LineInsert,
    WarehousePaid,
    WarehouseAddress,
    DistrictPaid,
    DistrictAddress,
    CustomerByName,
    CustomerPaid,
    BadCustomerPaid,
    Customer,
    BadCustomer,
    HistoryInsert,
    CustomerBalance,
    LastOrder,
    Lines,
    OldestNewOrder,
    NewOrderDelete,
    OrderCustomer,
    OrderCarrier,
    LinesDelivered,
    LineAmounts,
    CustomerDelivered,
    RecentStock,
    WarehouseInsert,
    DistrictInsert,
    CustomerInsert,
    ItemInsert,
    StockInsert,
    CheckWarehouse,
    CheckDistricts,
    CheckLastOrder,
    CheckNewOrders,
    CheckOrders,
    CheckLines,
}

impl Query {
    /// How a process names it.
    pub(super) fn issue(self) -> QueryRef {
        issue(&QUERIES, self as usize)
    }
}

const fn read(name: &'static str, text: &'static str) -> QueryText {
    QueryText { name, kind: Kind::Read, text }
}

const fn scan(name: &'static str, text: &'static str) -> QueryText {
    QueryText { name, kind: Kind::Scan, text }
}

const fn update(name: &'static str, text: &'static str) -> QueryText {
    QueryText { name, kind: Kind::Update, text }
}

const fn insert(name: &'static str, text: &'static str) -> QueryText {
    QueryText { name, kind: Kind::Insert, text }
}

/// Every query, those of the load and of the consistency conditions included.
pub(super) const QUERIES: [QueryText; 42] = [
    read("warehouse.tax", "SELECT w_tax FROM warehouse WHERE w_id = ?"),
    update(
        "district.next_order",
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
    ),
    read("district.read", "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?"),
    read(
        "customer.discount",
        "SELECT c_discount, c_last, c_credit FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    read("item.read", "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?"),
    read(
        "stock.read",
        "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, \
         s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock \
         WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    ),
    update(
        "stock.update",
        "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
    ),
    insert(
        "orders.insert",
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
         o_all_local) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    insert(
        "new_order.insert",
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)",
    ),
    insert(
        "order_line.insert",
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    update("warehouse.paid", "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?"),
    read(
        "warehouse.address",
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse \
         WHERE w_id = ?",
    ),
    update("district.paid", "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?"),
    read(
        "district.address",
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
         WHERE d_w_id = ? AND d_id = ?",
    ),
    scan(
        "customer.by_name",
        "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    ),
    update(
        "customer.paid",
        "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
         c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    update(
        "customer.bad_paid",
        "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
         c_payment_cnt = c_payment_cnt + 1, c_data = ? \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    read(
        "customer.read",
        "SELECT c_payment_cnt, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
         c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance \
         FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    read(
        "customer.bad_read",
        "SELECT c_payment_cnt, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
         c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_data \
         FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    insert(
        "history.insert",
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_number, h_w_id, h_d_id, h_date, \
         h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    read(
        "customer.balance",
        "SELECT c_balance, c_first, c_middle, c_last FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    scan(
        "orders.last",
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
         WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
    ),
    read(
        "order_line.read",
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    scan(
        "new_order.oldest",
        "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
         ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    ),
    QueryText {
        name: "new_order.delete",
        kind: Kind::Delete,
        text: "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
    },
    read(
        "orders.customer",
        "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    ),
    update(
        "orders.carrier",
        "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    ),
    update(
        "order_line.delivered",
        "UPDATE order_line SET ol_delivery_d = ? \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    read(
        "order_line.amounts",
        "SELECT ol_amount FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    update(
        "customer.delivered",
        "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    scan(
        "stock.recent",
        "SELECT s_i_id, s_quantity FROM order_line \
         JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ?",
    ),
    insert(
        "warehouse.insert",
        "INSERT INTO warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, \
         w_tax, w_ytd) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    insert(
        "district.insert",
        "INSERT INTO district (d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, \
         d_zip, d_tax, d_ytd, d_next_o_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    insert(
        "customer.insert",
        "INSERT INTO customer (c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, \
         c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, \
         c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    insert(
        "item.insert",
        "INSERT INTO item (i_id, i_im_id, i_name, i_price, i_data) VALUES (?, ?, ?, ?, ?)",
    ),
    insert(
        "stock.insert",
        "INSERT INTO stock (s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, \
         s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, \
         s_order_cnt, s_remote_cnt, s_data) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    read("check.warehouse", "SELECT w_ytd FROM warehouse WHERE w_id = ?"),
    read("check.districts", "SELECT d_id, d_ytd, d_next_o_id FROM district WHERE d_w_id = ?"),
    scan(
        "check.last_order",
        "SELECT o_id FROM orders WHERE o_w_id = ? AND o_d_id = ? ORDER BY o_id DESC LIMIT 1",
    ),
    read("check.new_orders", "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ?"),
    scan(
        "check.orders",
        "SELECT o_id, o_ol_cnt FROM orders \
         WHERE o_w_id = ? AND o_d_id = ? AND o_id >= ? AND o_id < ?",
    ),
    scan(
        "check.lines",
        "SELECT ol_o_id, ol_number FROM order_line \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ?",
    ),
];

/// How often each query occurs in one transaction of each type, on average, in the order of
/// [`TRANSACTIONS`](super::TRANSACTIONS).
const REQUESTED: [(Query, [f64; 5]); 31] = [
    (Query::WarehouseTax, [1.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::NextOrder, [1.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::District, [1.0, 0.0, 0.0, 0.0, 1.0]),
    (Query::CustomerDiscount, [1.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::Item, [10.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::Stock, [10.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::StockUpdate, [10.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::OrderInsert, [1.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::NewOrderInsert, [1.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::LineInsert, [10.0, 0.0, 0.0, 0.0, 0.0]),
    (Query::WarehousePaid, [0.0, 1.0, 0.0, 0.0, 0.0]),
    (Query::WarehouseAddress, [0.0, 1.0, 0.0, 0.0, 0.0]),
    (Query::DistrictPaid, [0.0, 1.0, 0.0, 0.0, 0.0]),
    (Query::DistrictAddress, [0.0, 1.0, 0.0, 0.0, 0.0]),
    (Query::CustomerByName, [0.0, 0.6, 0.6, 0.0, 0.0]),
    (Query::CustomerPaid, [0.0, 0.9, 0.0, 0.0, 0.0]),
    (Query::BadCustomerPaid, [0.0, 0.1, 0.0, 0.0, 0.0]),
    (Query::Customer, [0.0, 0.9, 0.0, 0.0, 0.0]),
    (Query::BadCustomer, [0.0, 0.1, 0.0, 0.0, 0.0]),
    (Query::HistoryInsert, [0.0, 1.0, 0.0, 0.0, 0.0]),
    (Query::CustomerBalance, [0.0, 0.0, 0.4, 0.0, 0.0]),
    (Query::LastOrder, [0.0, 0.0, 1.0, 0.0, 0.0]),
    (Query::Lines, [0.0, 0.0, 1.0, 0.0, 0.0]),
    (Query::OldestNewOrder, [0.0, 0.0, 0.0, 10.0, 0.0]),
    (Query::NewOrderDelete, [0.0, 0.0, 0.0, 10.0, 0.0]),
    (Query::OrderCustomer, [0.0, 0.0, 0.0, 10.0, 0.0]),
    (Query::OrderCarrier, [0.0, 0.0, 0.0, 10.0, 0.0]),
    (Query::LinesDelivered, [0.0, 0.0, 0.0, 10.0, 0.0]),
    (Query::LineAmounts, [0.0, 0.0, 0.0, 10.0, 0.0]),
    (Query::CustomerDelivered, [0.0, 0.0, 0.0, 10.0, 0.0]),
    (Query::RecentStock, [0.0, 0.0, 0.0, 0.0, 1.0]),
];

/// How often each query occurs in one transaction of a mix with these weights, on average; 0
/// for those of the load and of the conditions.
pub(super) fn frequencies(weights: &[f64; 5]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    let mut frequencies = vec![0.0; QUERIES.len()];
    for (query, times) in REQUESTED {
        let shares = weights.iter().zip(times).map(|(weight, times)| weight / sum * times);
        frequencies[query as usize] = shares.sum();
    }
    frequencies
}
