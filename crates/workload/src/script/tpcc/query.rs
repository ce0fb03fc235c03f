//! Queries of TPC-C in SQL.

use assay_model::Kind;
use assay_model::script::QueryRef;

use crate::script::program::{QueryText, issue};

/// Declares the queries, those of the load and of the consistency conditions included: the kind of
/// each, its name, how often it occurs in one transaction of each type, on average, in the order
/// of [`TRANSACTIONS`](super::TRANSACTIONS), its text.
macro_rules! queries {
    ($($query:ident: $kind:ident $name:literal, $requested:expr, $text:literal;)*) => {
        /// The queries, by their places in [`QUERIES`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub(super) enum Query { $($query,)* }

        /// Every query.
        pub(super) const QUERIES: [QueryText; [$($name,)*].len()] =
            [$(QueryText { name: $name, kind: Kind::$kind, text: $text },)*];

        pub(super) const REQUESTED: [[f64; 5]; QUERIES.len()] = [$($requested,)*];
    };
}

/// Queries of the load and of the conditions, which no transaction has.
const NEVER: [f64; 5] = [0.0; 5];

queries! {
    WarehouseTax: Read "warehouse.tax", [1.0, 0.0, 0.0, 0.0, 0.0],
        "SELECT w_tax FROM warehouse WHERE w_id = ?";
    NextOrder: Update "district.next_order", [1.0, 0.0, 0.0, 0.0, 0.0],
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?";
    District: Read "district.read", [1.0, 0.0, 0.0, 0.0, 1.0],
        "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?";
    CustomerDiscount: Read "customer.discount", [1.0, 0.0, 0.0, 0.0, 0.0],
        "SELECT c_discount, c_last, c_credit FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    Item: Read "item.read", [10.0, 0.0, 0.0, 0.0, 0.0],
        "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?";
    Stock: Read "stock.read", [10.0, 0.0, 0.0, 0.0, 0.0],
        "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, \
         s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock \
         WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE";
    StockUpdate: Update "stock.update", [10.0, 0.0, 0.0, 0.0, 0.0],
        "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?";
    OrderInsert: Insert "orders.insert", [1.0, 0.0, 0.0, 0.0, 0.0],
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
         o_all_local) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    NewOrderInsert: Insert "new_order.insert", [1.0, 0.0, 0.0, 0.0, 0.0],
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)";
    LineInsert: Insert "order_line.insert", [10.0, 0.0, 0.0, 0.0, 0.0],
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    WarehousePaid: Update "warehouse.paid", [0.0, 1.0, 0.0, 0.0, 0.0],
        "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?";
    WarehouseAddress: Read "warehouse.address", [0.0, 1.0, 0.0, 0.0, 0.0],
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse \
         WHERE w_id = ?";
    DistrictPaid: Update "district.paid", [0.0, 1.0, 0.0, 0.0, 0.0],
        "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?";
    DistrictAddress: Read "district.address", [0.0, 1.0, 0.0, 0.0, 0.0],
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
         WHERE d_w_id = ? AND d_id = ?";
    CustomerByName: Scan "customer.by_name", [0.0, 0.6, 0.6, 0.0, 0.0],
        "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
    CustomerPaid: Update "customer.paid", [0.0, 0.9, 0.0, 0.0, 0.0],
        "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
         c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    BadCustomerPaid: Update "customer.bad_paid", [0.0, 0.1, 0.0, 0.0, 0.0],
        "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
         c_payment_cnt = c_payment_cnt + 1, c_data = ? \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    Customer: Read "customer.read", [0.0, 0.9, 0.0, 0.0, 0.0],
        "SELECT c_payment_cnt, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
         c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance \
         FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    BadCustomer: Read "customer.bad_read", [0.0, 0.1, 0.0, 0.0, 0.0],
        "SELECT c_payment_cnt, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
         c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_data \
         FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    HistoryInsert: Insert "history.insert", [0.0, 1.0, 0.0, 0.0, 0.0],
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_number, h_w_id, h_d_id, h_date, \
         h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    CustomerBalance: Read "customer.balance", [0.0, 0.0, 0.4, 0.0, 0.0],
        "SELECT c_balance, c_first, c_middle, c_last FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    LastOrder: Scan "orders.last", [0.0, 0.0, 1.0, 0.0, 0.0],
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
         WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1";
    Lines: Read "order_line.read", [0.0, 0.0, 1.0, 0.0, 0.0],
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    OldestNewOrder: Scan "new_order.oldest", [0.0, 0.0, 0.0, 10.0, 0.0],
        "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
         ORDER BY no_o_id LIMIT 1 FOR UPDATE";
    NewOrderDelete: Delete "new_order.delete", [0.0, 0.0, 0.0, 10.0, 0.0],
        "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?";
    OrderCustomer: Read "orders.customer", [0.0, 0.0, 0.0, 10.0, 0.0],
        "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
    OrderCarrier: Update "orders.carrier", [0.0, 0.0, 0.0, 10.0, 0.0],
        "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
    LinesDelivered: Update "order_line.delivered", [0.0, 0.0, 0.0, 10.0, 0.0],
        "UPDATE order_line SET ol_delivery_d = ? \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    LineAmounts: Read "order_line.amounts", [0.0, 0.0, 0.0, 10.0, 0.0],
        "SELECT ol_amount FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    CustomerDelivered: Update "customer.delivered", [0.0, 0.0, 0.0, 10.0, 0.0],
        "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    RecentStock: Scan "stock.recent", [0.0, 0.0, 0.0, 0.0, 1.0],
        "SELECT s_i_id, s_quantity FROM order_line \
         JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ?";
    WarehouseInsert: Insert "warehouse.insert", NEVER,
        "INSERT INTO warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, \
         w_tax, w_ytd) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    DistrictInsert: Insert "district.insert", NEVER,
        "INSERT INTO district (d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, \
         d_zip, d_tax, d_ytd, d_next_o_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    CustomerInsert: Insert "customer.insert", NEVER,
        "INSERT INTO customer (c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, \
         c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, \
         c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    ItemInsert: Insert "item.insert", NEVER,
        "INSERT INTO item (i_id, i_im_id, i_name, i_price, i_data) VALUES (?, ?, ?, ?, ?)";
    StockInsert: Insert "stock.insert", NEVER,
        "INSERT INTO stock (s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, \
         s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, \
         s_order_cnt, s_remote_cnt, s_data) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    CheckWarehouse: Read "check.warehouse", NEVER, "SELECT w_ytd FROM warehouse WHERE w_id = ?";
    CheckDistricts: Read "check.districts", NEVER,
        "SELECT d_id, d_ytd, d_next_o_id FROM district WHERE d_w_id = ?";
    CheckLastOrder: Scan "check.last_order", NEVER,
        "SELECT o_id FROM orders WHERE o_w_id = ? AND o_d_id = ? ORDER BY o_id DESC LIMIT 1";
    CheckNewOrders: Read "check.new_orders", NEVER,
        "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ?";
    CheckOrders: Scan "check.orders", NEVER,
        "SELECT o_id, o_ol_cnt FROM orders \
         WHERE o_w_id = ? AND o_d_id = ? AND o_id >= ? AND o_id < ?";
    CheckLines: Scan "check.lines", NEVER,
        "SELECT ol_o_id, ol_number FROM order_line \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ?";
}

impl Query {
    /// How a process names it.
    pub(super) fn issue(self) -> QueryRef {
        issue(&QUERIES, self as usize)
    }
}
